// renn's own ways of looking at the bus: status, threads, search, export, watch, why, whoami, stats (docs/protocol.md, additions).
import { describe, expect, test } from "bun:test";
import { World } from "../world.ts";

function talk() {
  const world = new World({ limits: { sendsPerWindow: 10_000 } });
  return { world, ann: world.register("ann"), bob: world.register("bob") };
}

test("status shows everybody, or with live only who is here", () => {
  const { world, ann, bob } = talk();
  ann.call("send", { threadId: null, to: "bob", body: "hi" });
  bob.close();
  world.advance(5000);
  const all = ann.call("status", {});
  expect(all.now).toBe(world.system.wall);
  expect(all.peers).toMatchObject([
    { handle: "renn", owner: true, presence: "online", unread: 0 },
    { handle: "ann", owner: false, display: null, role: null, client: null, cwd: null, version: null },
    { handle: "bob", presence: "offline", unread: 1 },
  ]);
  expect(ann.call("status", { live: true }).peers.map((p) => p.handle)).toEqual(["renn", "ann"]);
});

test("threads are the newest of the bus or of a peer, with what the caller has not read", () => {
  const { world, ann, bob } = talk();
  world.register("cal");
  ann.call("send", { threadId: null, to: "bob", body: "one\nx" });
  ann.call("send", { threadId: null, to: "cal", body: "two" });
  bob.call("reply", { messageId: 1, body: "answer" });
  expect(ann.call("threads", {}).threads).toMatchObject([
    {
      threadId: 1,
      latestSeq: 2,
      openedBy: "ann",
      from: "bob",
      firstLine: "one",
      lastLine: "answer",
      participants: ["ann", "bob"],
      unread: 1,
    },
    { threadId: 2, openedBy: "ann", participants: ["ann", "cal"], unread: 0 },
  ]);
  expect(ann.call("threads", { limit: 1 }).threads.map((t) => t.threadId)).toEqual([1]);
  expect(ann.call("threads", { handle: "cal" }).threads.map((t) => t.threadId)).toEqual([2]);
  expect(ann.refused("threads", { handle: "nobody" }).code).toBe("unknown_handle");
});

describe("search", () => {
  test("finds words of bodies, also of a message that was sent a moment ago, and shows the place", () => {
    const { ann } = talk();
    ann.call("send", { threadId: null, to: "bob", body: "the quick brown fox" });
    ann.call("send", { threadId: null, to: "bob", body: "a lazy dog, and the fox" });
    expect(ann.call("search", { text: "fox lazy" }).results).toMatchObject([{ id: 2, snippet: "a «lazy» dog, and the «fox»" }]);
    expect(
      ann
        .call("search", { text: "FOX" })
        .results.map((r) => r.id)
        .sort(),
    ).toEqual([1, 2]);
    expect(ann.call("search", { text: "fox", threadId: 1 }).results.map((r) => r.id)).toEqual([1]);
    expect(ann.call("search", { text: "fox", limit: 1 }).results).toHaveLength(1);
    expect(ann.call("search", { text: "cat" }).results).toEqual([]);
  });

  test("takes nothing of the text as query syntax", () => {
    const { ann } = talk();
    ann.call("send", { threadId: null, to: "bob", body: 'NEAR the "end" OR body: x*' });
    for (const text of ['"end"', "NEAR(the", "body:", "OR", "x*", '" OR "', "NOT near"])
      expect(ann.call("search", { text }).results.length).toBeLessThanOrEqual(1);
    expect(ann.call("search", { text: 'near "end"' }).results).toHaveLength(1);
    expect(ann.refused("search", { text: '"*" ()' }).code).toBe("bad_request");
  });
});

describe("export", () => {
  test("gives messages with bodies and deliveries, by id, of a thread or since an id", () => {
    const { ann, bob } = talk();
    ann.call("send", { threadId: null, to: "bob", body: "one" });
    ann.call("send", { threadId: null, to: "bob", body: "two" });
    bob.call("reply", { messageId: 1, body: "three", verdict: "agree" });
    const ids = (fields: object) => ann.call("export", fields).messages.map((m) => m.id);
    expect([ids({}), ids({ threadId: 1 }), ids({ sinceId: 1 }), ids({ threadId: 1, sinceId: 1 })]).toEqual([
      [1, 2, 3],
      [1, 3],
      [2, 3],
      [3],
    ]);
    expect(ann.call("export", {}).messages[0]).toMatchObject({
      body: "one",
      from: "ann",
      deliveries: [{ handle: "bob", state: "replied", mode: "push" }],
    });
    expect(ann.refused("export", { threadId: 9 }).code).toBe("unknown_thread");
  });

  test("stops at four MiB and goes on from the id that it names", () => {
    const { ann } = talk();
    for (let n = 0; n < 12; n++) ann.call("send", { threadId: null, to: "bob", body: `${n}`.padEnd(600_000, "x") });
    const seen: number[] = [];
    for (let sinceId = 0, more = true; more; ) {
      const page = ann.call("export", { sinceId });
      expect(ann.lines.at(-1)?.length).toBeLessThanOrEqual(4 * 1_048_576);
      seen.push(...page.messages.map((m) => m.id));
      more = page.more ?? false;
      sinceId = page.nextId ?? 0;
    }
    expect(seen).toEqual(Array.from({ length: 12 }, (_, n) => n + 1));
  });

  test("of more than its step of small ones is whole", () => {
    const { ann } = talk();
    for (let n = 0; n < 700; n++) ann.post("send", { threadId: null, to: "bob", body: `m${n}`, mode: "silent" });
    ann.request("status");
    const stored = ann.call("export", {}).messages.length;
    expect(stored).toBe(200);
    for (let n = 0; n < 400; n++) ann.request("reply", { messageId: 1, body: `r${n}` });
    expect(ann.call("export", {}).messages.map((m) => m.id)).toEqual(Array.from({ length: 600 }, (_, n) => n + 1));
  });
});

describe("watch", () => {
  test("tells messages, states, presence and renames as they happen", () => {
    const { world } = talk();
    world.register("eye");
    world.play(`
      eye> watch
      eye< ok {}
      ann> send {threadId: null, to: bob, body: hi}
      ann< ok
      eye< watch {kind: message, message: {id: 1, from: ann, to: [bob]}}
      bob> read {ids: [1]}
      bob< ok
      eye< watch {kind: state, messageId: 1, threadId: 1, handle: bob, state: delivered}
      bob> delivered {ids: [1]}
      bob< ok
      bob> read {ids: [1]}
      bob< ok
      eye< nothing
      bob> name {handle: robert}
      bob< ok
      eye< watch {kind: renamed, handle: robert, from: bob}
      eye< nothing
    `);
    world.connections.get("bob")?.close();
    world.advance(5000);
    expect(
      world.connections
        .get("eye")
        ?.events("watch")
        .map((e) => e.payload),
    ).toMatchObject([{ kind: "presence", handle: "robert", presence: "offline" }]);
  });

  test("of a thread or a handle tells only that", () => {
    const { world, ann } = talk();
    world.register("cal");
    const [thread, handle] = [world.connect("t"), world.connect("h")];
    for (const c of [thread, handle]) c.call("register", { handle: "eye", clientKind: "cli" });
    ann.call("send", { threadId: null, to: "bob", body: "one" });
    thread.call("watch", { threadId: 1 });
    handle.call("watch", { handle: "cal" });
    ann.call("send", { threadId: null, to: "cal", body: "two" });
    ann.call("send", { threadId: 1, to: "bob", body: "three" });
    const told = (c: typeof ann) => c.events("watch").map((e) => (e.payload as { message: { id: number } }).message.id);
    expect([told(thread), told(handle)]).toEqual([[3], [2]]);
    expect(thread.refused("watch", { threadId: 9 }).code).toBe("unknown_thread");
    expect(thread.refused("watch", { handle: "nobody" }).code).toBe("unknown_handle");
  });
});

describe("why", () => {
  test("says where a message is, how often it was tried, and what a person can do", () => {
    const { world, ann } = talk();
    const worker = world.session("worker", { client: "zcode" });
    ann.call("send", { threadId: null, to: ["worker", "bob"], body: "hi" });
    const at = world.system.wall;
    expect(ann.call("why", { messageId: 1 })).toMatchObject({
      messageId: 1,
      threadId: 1,
      from: "ann",
      at,
      deliveries: [
        { handle: "bob", state: "queued", attempts: [], reach: "next-turn" },
        {
          handle: "worker",
          state: "queued",
          client: "zcode",
          since: at,
          presence: "idle",
          best: expect.stringContaining("ZCode"),
          advice: /./,
        },
      ].map((d) => ({ ...d, ...("advice" in d ? { advice: expect.stringContaining("type anything") } : {}) })),
    });
    worker.call("hook", { event: "prompt" });
    const advice = () => ann.call("why", { messageId: 1, handle: "worker" }).deliveries[0]?.advice;
    expect(advice()).toContain("proof is still open");
    worker.call("hook", { event: "post-tool" });
    expect(advice()).toContain("up to the recipient");
    worker.call("reply", { messageId: 1, body: "yes" });
    expect(advice()).toContain("it is done");
  });

  test("names what holds a message up: a silent mode, an absent session", () => {
    const { world, ann, bob } = talk();
    bob.close();
    world.advance(5000);
    ann.call("send", { threadId: null, to: "bob", body: "hi" });
    ann.call("send", { threadId: null, to: "bob", body: "hush", mode: "silent" });
    const advice = (messageId: number) => ann.call("why", { messageId }).deliveries[0]?.advice;
    expect([advice(1), advice(2)]).toEqual([expect.stringContaining("renn inbox"), expect.stringContaining("silent")]);
    expect(ann.refused("why", { messageId: 9 }).code).toBe("unknown_message");
    expect(ann.refused("why", { messageId: 1, handle: "ann" }).code).toBe("unknown_message");
    expect(ann.refused("why", { messageId: 1, handle: "nobody" }).code).toBe("unknown_handle");
  });
});

test("whoami and stats say what this connection and this broker are", () => {
  const { world, ann } = talk();
  const worker = world.session("worker", { cwd: "/w", listen: true });
  ann.call("groups", { action: "create", name: "crew", members: ["worker"] });
  ann.call("send", { threadId: null, to: "worker", body: "hi" });
  expect(worker.call("whoami", {})).toMatchObject({
    handle: "worker",
    owner: false,
    via: null,
    client: "claude",
    cwd: "/w",
    presence: "idle",
    reach: "now",
    pinned: true,
    peek: false,
    groups: ["crew"],
    unread: 1,
    muted: [],
  });
  ann.request("wait", { threadId: 1, until: "all_replied" });
  expect(worker.call("stats", {})).toMatchObject({
    version: "test",
    connections: 3,
    sessions: 1,
    listeners: 1,
    waits: 1,
    handedOver: 1,
    unreadByState: { queued: 0, sent: 1, delivered: 0 },
    oldestQueuedAt: null,
    messages: 1,
  });
});
