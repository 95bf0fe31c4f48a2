// The states of a delivery over listening connections, and what is said of it (semantics §7).
import { describe, expect, test } from "bun:test";
import { World } from "../world.ts";

function pair(fields: object = { listen: true }) {
  const world = new World();
  const ann = world.register("ann");
  const bob = world.register("bob", fields);
  const state = (id = 1) => ann.call("why", { messageId: id }).deliveries[0]?.state;
  const attempts = (id = 1) => ann.call("why", { messageId: id }).deliveries[0]?.attempts.map((a) => `${a.channel} ${a.outcome}`);
  const send = (body = "hi", more: object = {}) => {
    world.advance(4000);
    return ann.call("send", { threadId: null, to: "bob", body, ...more });
  };
  return { world, ann, bob, state, attempts, send };
}

describe("a listening connection", () => {
  test("is given the message, its mode, its footer and the exact text", () => {
    const { world } = pair();
    world.play(`
      ann> send {threadId: null, to: bob, body: "hello\\nthere", references: [a.ts]}
      ann< ok {deliveries: [{handle: bob, state: sent, reach: now}]}
      bob< {v: 2, type: event, event: push, payload: {mode: push, message: {id: 1, threadId: 1, seq: 1, from: ann, via: null, to: [bob], kind: ask, replyTo: null, verdict: null, mode: push, references: [a.ts], firstLine: hello, length: 11, truncated: false, state: sent}}}
      bob< nothing
    `);
    const { bob, send } = pair();
    send("hello\nthere", { references: ["a.ts", "b.ts"] });
    expect(bob.events("push")[0]?.payload).toMatchObject({
      footer: "[reply: reply tool with messageId 1 · thread 1]",
      text: "[murmur m1 thread 1 #1 from ann to bob]\nhello\nthere\nrefs: a.ts, b.ts\n[reply: reply tool with messageId 1 · thread 1]",
    });
  });

  test("of a peer without tools is told the command", () => {
    const { bob, send } = pair({ listen: true, clientKind: "cli" });
    send();
    expect(bob.events("push")[0]?.payload).toMatchObject({ footer: '[reply: renn reply 1 "…" · renn thread 1]' });
  });

  test("confirms with delivered; the answer holds the ids that are there now", () => {
    const { world, bob, state, send } = pair();
    send();
    send("two");
    expect(bob.call("delivered", { ids: [1, 1] })).toEqual({ delivered: [1] });
    expect([state(1), state(2)]).toEqual(["delivered", "sent"]);
    expect(bob.call("delivered", { ids: [2, 1] })).toEqual({ delivered: [2, 1] });
    world.advance(300_000);
    expect(state(1)).toBe("delivered");
  });

  test("cannot confirm what is not its own, and then nothing moves", () => {
    const { ann, bob, state, send } = pair();
    send();
    bob.call("send", { threadId: null, to: "ann", body: "mine" });
    for (const type of ["delivered", "ack"]) expect(bob.refused(type, { ids: [1, 2] }).code).toBe("unknown_message");
    expect(bob.refused("delivered", { ids: [1, 99] }).code).toBe("unknown_message");
    expect(state(1)).toBe("sent");
    expect(ann.refused("ack", { ids: [1] }).code).toBe("unknown_message");
  });

  test("closed before it confirmed: the message comes again, and was never delivered", () => {
    const { world, bob, state, attempts, send } = pair();
    send();
    bob.close();
    expect(state()).toBe("queued");
    const back = world.register("bob", { listen: true });
    expect(back.pushed()).toEqual([1]);
    expect(state()).toBe("sent");
    expect(attempts()).toEqual(["listener closed", "listener open"]);
  });

  test("bound to somebody else before it confirmed: the same", () => {
    const { bob, state, send } = pair();
    send();
    bob.call("register", { handle: "carl", clientKind: "mcp" });
    expect(state()).toBe("queued");
    expect(bob.call("whoami", {}).handle).toBe("carl");
  });

  test("that listens no more, or whose session ends: the same, and a late confirmation still counts", () => {
    const { bob, state, send } = pair();
    send();
    bob.call("register", { handle: "bob", clientKind: "mcp", listen: false });
    expect(state()).toBe("queued");
    bob.call("delivered", { ids: [1] });
    expect(state()).toBe("delivered");
    const world = new World();
    const ann = world.register("ann");
    const adapter = world.session("worker", { client: "opencode", listen: true });
    ann.call("send", { threadId: null, to: "worker", body: "hi" });
    adapter.call("session", { ...adapter.fields, event: "session-end" });
    expect(ann.call("collect", { threadId: 1 }).recipients[0]?.state).toBe("queued");
    adapter.events();
    adapter.call("session", { ...adapter.fields, source: "resume" });
    expect(adapter.pushed()).toEqual([1]);
  });

  test("that swallows everything for two minutes: exactly one copy waits for the next pull", () => {
    const { world, bob, state, attempts, send } = pair();
    send();
    world.advance(119_999);
    expect(state()).toBe("sent");
    world.advance(1);
    expect(state()).toBe("queued");
    world.advance(600_000);
    expect(bob.pushed()).toEqual([1]);
    expect(bob.call("hook", { event: "prompt" }).texts).toHaveLength(1);
    expect(bob.call("hook", { event: "prompt" }).texts).toHaveLength(0);
    expect(attempts()).toEqual(["listener no-proof", "hook unproven"]);
    expect(state()).toBe("delivered");
  });

  test("is the newest of several; the others take over when it closes", () => {
    const { world, bob, send } = pair();
    const second = world.connect("second");
    second.call("register", { handle: "bob", clientKind: "mcp", listen: true });
    send();
    expect([bob.pushed(), second.pushed()]).toEqual([[], [1]]);
    second.close();
    expect(bob.pushed()).toEqual([1]);
  });

  test("gets what waited, in one write and in its order", () => {
    const { world, ann } = pair({});
    for (let n = 0; n < 15; n++) ann.call("send", { threadId: null, to: "bob", body: `m${n}` });
    const back = world.register("bob", { listen: true });
    expect(back.pushed()).toEqual(Array.from({ length: 15 }, (_, n) => n + 1));
  });

  test("gets more than a hundred that waited", () => {
    const world = new World({ limits: { sendsPerWindow: 1000 } });
    const ann = world.register("ann");
    world.register("bob");
    for (let n = 0; n < 150; n++) ann.call("send", { threadId: null, to: "bob", body: `m${n}` });
    expect(world.register("bob", { listen: true }).pushed()).toEqual(Array.from({ length: 150 }, (_, n) => n + 1));
  });

  test("is not given notify and silent messages", () => {
    const { bob, send } = pair();
    send("one", { mode: "notify" });
    send("two", { mode: "silent" });
    expect(bob.events()).toEqual([]);
  });
});

describe("attempts", () => {
  test("after three over all channels only inbox and read show a message, and it blocks nobody", () => {
    const { world, ann, state, send } = pair({});
    send("stuck");
    for (let n = 0; n < 2; n++) world.register("bob", { listen: true }).close();
    const last = world.register("bob");
    expect(last.call("fetch-push", { handle: "bob", limit: 1 }).messages).toMatchObject([{ id: 1, state: "sent" }]);
    last.close();
    send("next");
    const back = world.register("bob", { listen: true });
    expect(back.pushed()).toEqual([2]);
    expect(back.call("hook", { event: "prompt" }).texts).toEqual([]);
    expect(back.call("inbox", { unreadOnly: true }).threads.map((t) => t.messages[0]?.id)).toEqual([2, 1]);
    expect(ann.call("why", { messageId: 1 }).deliveries[0]?.advice).toContain("renn read 1");
    back.call("read", { ids: [1] });
    expect(state(1)).toBe("delivered");
  });
});

describe("states", () => {
  test("go forward only: read and delivered after replied change nothing", () => {
    const { bob, state, send } = pair();
    send();
    bob.call("reply", { messageId: 1, body: "yes" });
    for (const [type, fields] of [
      ["read", { ids: [1] }],
      ["delivered", { ids: [1] }],
      ["ack", { ids: [1] }],
      ["thread", { threadId: 1, full: true }],
    ] as const) {
      bob.call(type, fields);
      expect(state()).toBe("replied");
    }
  });

  test("ack takes queued, sent and delivered; replies and notify messages acknowledge themselves by being delivered", () => {
    const { ann, bob, state, send } = pair({});
    send();
    expect(bob.call("ack", { ids: [1] })).toEqual({ acknowledged: [1] });
    expect(state(1)).toBe("acknowledged");
    send("two", { mode: "notify" });
    bob.call("read", { ids: [2] });
    expect(state(2)).toBe("acknowledged");
    bob.call("reply", { messageId: 1, body: "yes" });
    ann.call("read", { ids: [3] });
    expect(state(3)).toBe("acknowledged");
    expect(ann.call("inbox", { unreadOnly: true }).unreadTotal).toBe(0);
  });

  test("read and a full view by the recipient deliver; summaries and other people's reading do not", () => {
    const { world, ann, bob, state, send } = pair({});
    const cal = world.register("cal");
    send();
    ann.call("read", { ids: [1] });
    cal.call("read", { ids: [1] });
    cal.call("thread", { threadId: 1, full: true });
    bob.call("thread", { threadId: 1 });
    bob.call("inbox", { unreadOnly: true });
    expect(state(1)).toBe("queued");
    expect(bob.call("thread", { threadId: 1, full: true }).messages[0]).toMatchObject({ state: "delivered", body: "hi" });
    expect(state(1)).toBe("delivered");
    send("two");
    expect(bob.call("read", { ids: [2] }).messages[0]).toMatchObject({ state: "delivered", body: "two" });
    expect(state(2)).toBe("delivered");
  });

  test("read by the owner via a session moves the session's delivery too", () => {
    const world = new World();
    const ann = world.register("ann");
    const worker = world.session("worker");
    ann.call("send", { threadId: null, to: ["worker", "renn"], body: "hi" });
    const shell = world.owner({}, worker.fields.host.hostPid);
    shell.call("read", { ids: [1] });
    expect(ann.call("collect", { threadId: 1 }).recipients.map((r) => r.state)).toEqual(["delivered", "delivered"]);
    shell.call("ack", { ids: [1] });
    expect(ann.call("collect", { threadId: 1 }).recipients.map((r) => r.state)).toEqual(["acknowledged", "acknowledged"]);
  });

  test("a command that acts as a session from outside of its process tree only looks", () => {
    const world = new World();
    const ann = world.register("ann");
    const worker = world.session("worker");
    ann.call("send", { threadId: null, to: "worker", body: "hi" });
    const outside = world.connect("outside", { pid: world.system.start() });
    outside.call("register", { handle: "worker", clientKind: "cli" });
    expect(outside.call("whoami", {}).peek).toBe(true);
    outside.call("read", { ids: [1] });
    outside.call("thread", { threadId: 1, full: true });
    expect(ann.call("collect", { threadId: 1 }).recipients[0]?.state).toBe("queued");
    const inside = world.connect("inside", { pid: world.system.start(worker.fields.host.hostPid) });
    inside.call("register", { handle: "worker", clientKind: "cli" });
    inside.call("read", { ids: [1] });
    expect(ann.call("collect", { threadId: 1 }).recipients[0]?.state).toBe("delivered");
  });
});

describe("fetch-push", () => {
  test("takes queued pushes, oldest first, at most limit; closing before a confirmation gives them back", () => {
    const { bob, state, send } = pair({});
    send("one");
    send("two", { mode: "notify" });
    send("three");
    send("four");
    const taken = bob.call("fetch-push", { handle: "bob", limit: 2 });
    expect(taken.messages.map((m) => [m.id, m.state])).toEqual([
      [1, "sent"],
      [3, "sent"],
    ]);
    expect(taken.texts).toEqual([expect.stringMatching(/^\[murmur m1 /), expect.stringMatching(/^\[murmur m3 /)]);
    expect(bob.call("fetch-push", { handle: "bob", limit: 50 }).messages.map((m) => m.id)).toEqual([4]);
    bob.call("delivered", { ids: [1] });
    bob.close();
    expect([1, 3, 4].map(state)).toEqual(["delivered", "queued", "queued"]);
  });

  test("of another handle is refused, of one's own old name is not", () => {
    const { bob } = pair({});
    expect(bob.refused("fetch-push", { handle: "ann", limit: 1 })).toMatchObject({ code: "bad_request" });
    expect(bob.refused("fetch-push", { handle: "nobody", limit: 1 })).toMatchObject({ code: "bad_request" });
    bob.call("name", { handle: "robert" });
    expect(bob.call("fetch-push", { handle: "bob", limit: 1 }).messages).toEqual([]);
  });
});
