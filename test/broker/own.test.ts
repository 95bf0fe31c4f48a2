// What a peer changes of its own: its name, what it withdraws, whom it mutes (docs/protocol.md, additions).
import { describe, expect, test } from "bun:test";
import { World } from "../world.ts";

function talk() {
  const world = new World();
  return { world, ann: world.register("ann"), bob: world.register("bob"), cal: world.register("cal") };
}

describe("name", () => {
  test("gives a session a pinned handle; the owner names the session it speaks through, and not itself", () => {
    const { world } = talk();
    const worker = world.session("worker");
    expect(worker.call("name", { handle: "builder" })).toEqual({ handle: "builder" });
    expect(worker.call("whoami", {})).toMatchObject({ handle: "builder", pinned: true });
    const shell = world.owner({}, worker.fields.host.hostPid);
    expect(shell.call("name", { handle: "maker" })).toEqual({ handle: "maker" });
    expect(worker.call("whoami", {}).handle).toBe("maker");
    expect(world.owner().refused("name", { handle: "me" }).code).toBe("bad_request");
  });

  test("is refused where somebody has it", () => {
    const { world, ann } = talk();
    world.session("worker");
    ann.call("groups", { action: "create", name: "crew" });
    for (const handle of ["worker", "renn", "crew", "all", "bob"]) expect(ann.refused("name", { handle }).code).toBe("bad_request");
    expect(ann.call("name", { handle: "ann" })).toEqual({ handle: "ann" });
  });

  test("of a peer with no live session and with mail: the session becomes that peer, and both queues come along", () => {
    const { world, ann, bob, cal } = talk();
    bob.close();
    world.advance(5000);
    ann.call("send", { threadId: null, to: "bob", body: "for bob" });
    const worker = world.session("worker");
    const wait = cal.call("send", { threadId: null, to: "worker", body: "for worker" });
    const id = cal.request("wait", { threadId: wait.threadId, until: "all_replied" });
    expect(worker.call("name", { handle: "bob" })).toEqual({ handle: "bob" });
    expect(worker.call("hook", { event: "prompt" }).texts).toHaveLength(2);
    worker.call("reply", { messageId: wait.messageId, body: "yes" });
    expect(cal.answer(id)).toMatchObject({ result: { conditionMet: true, matrix: [{ handle: "bob", replyMessageId: 3 }] } });
  });

  test("takes along all that the session was: what it sent, its groups, its rate, its old name; over a restart too", () => {
    const { world, ann, bob, cal } = talk();
    bob.close();
    world.advance(5000);
    ann.call("send", { threadId: null, to: "bob", body: "for bob" });
    const worker = world.session("worker", { listen: true });
    const shell = world.owner({}, worker.fields.host.hostPid);
    worker.call("send", { threadId: null, to: "ann", body: "from worker" });
    shell.call("send", { threadId: null, to: "cal", body: "via worker" });
    cal.call("groups", { action: "create", name: "crew", members: ["worker", "bob"] });
    cal.call("send", { threadId: null, to: "@crew", body: "to both" });
    cal.call("mute", { handle: "worker", forMs: 1_000_000_000 });
    worker.call("mute", { handle: "ann", forMs: 1_000_000_000 });
    const eye = world.register("eye");
    eye.call("watch", { handle: "worker" });
    expect(worker.pushed()).toEqual([4]);
    worker.call("name", { handle: "bob" });
    expect(worker.pushed()).toEqual([1, 4]);
    worker.call("delivered", { ids: [1, 4] });
    expect(shell.call("whoami", {}).via).toBe("bob");
    expect(eye.events("watch").map((e) => (e.payload as { kind: string }).kind)).toContain("renamed");
    const look = (from: typeof ann) => ({
      thread: from
        .call("thread", { threadId: 2 })
        .messages.slice(0, 1)
        .map((m) => [m.from, m.to]),
      via: from.call("thread", { threadId: 3 }).messages[0]?.via,
      group: from.call("groups", { action: "list" })[0]?.members,
      peers: from.call("status", {}).peers.map((p) => p.handle),
      muted: from.call("send", { threadId: null, to: "worker", body: `hello ${world.broker.bus.nextMessageId}` }).deliveries,
    });
    const expected = {
      thread: [["bob", ["ann"]]],
      via: "bob",
      group: ["bob"],
      peers: ["renn", "ann", "bob", "cal", "eye"],
      muted: [expect.objectContaining({ handle: "bob", mode: "silent" })],
    };
    expect(look(ann)).toEqual(expected);
    expect(ann.call("reply", { messageId: 2, body: "yes" }).deliveries).toMatchObject([{ handle: "bob" }]);
    expect(worker.call("whoami", {}).muted).toMatchObject([{ handle: "ann" }]);
    world.restart();
    expect(look(world.register("ann"))).toEqual({ ...expected, peers: expect.arrayContaining(expected.peers) });
  });
});

test("a session that waits while it takes a name gets its answer under the new one", () => {
  const { world, ann, bob, cal } = talk();
  cal.call("send", { threadId: null, to: "bob", body: "old mail" });
  bob.close();
  world.advance(5000);
  const worker = world.session("worker");
  const tools = world.connect("tools");
  tools.call("register", { handle: "worker", clientKind: "mcp" });
  tools.call("send", { threadId: null, to: "ann", body: "well?" });
  const id = tools.request("wait", { threadId: 2, until: "all_replied" });
  worker.call("name", { handle: "bob" });
  expect(ann.call("reply", { messageId: 2, body: "yes" }).deliveries).toMatchObject([{ handle: "bob", state: "sent" }]);
  expect(tools.answer(id)).toMatchObject({ result: { conditionMet: true, replies: [{ from: "ann" }] } });
  expect(worker.call("hook", { event: "prompt" }).texts).toEqual([expect.stringContaining("old mail")]);
});

describe("cancel", () => {
  test("withdraws a message from those to whom it is still queued, and says who has it", () => {
    const { world, ann, bob, cal } = talk();
    world.register("dee", { listen: true });
    ann.call("send", { threadId: null, to: ["bob", "cal", "dee"], body: "hi" });
    cal.call("read", { ids: [1] });
    expect(bob.refused("cancel", { messageId: 1 }).code).toBe("unknown_message");
    expect(ann.call("cancel", { messageId: 1 })).toEqual({ cancelled: ["bob"], kept: ["cal", "dee"] });
    expect(bob.call("hook", { event: "prompt" }).texts).toEqual([]);
    expect(bob.call("inbox", { unreadOnly: true }).unreadTotal).toBe(0);
    expect(ann.call("collect", { threadId: 1 }).recipients.map((r) => r.handle)).toEqual(["cal", "dee"]);
    expect(ann.refused("cancel", { messageId: 9 }).code).toBe("unknown_message");
  });

  test("what was handed over once is kept: it may have been seen", () => {
    const { world, ann, bob } = talk();
    ann.call("send", { threadId: null, to: "bob", body: "hi" });
    bob.call("fetch-push", { handle: "bob", limit: 1 });
    bob.close();
    world.settle();
    expect(ann.call("cancel", { messageId: 1 })).toEqual({ cancelled: [], kept: ["bob"] });
  });

  test("ends a wait for it: nobody waits for an answer that cannot come", () => {
    const { world, ann, bob } = talk();
    ann.call("send", { threadId: null, to: ["bob", "cal"], body: "hi" });
    bob.call("read", { ids: [1] });
    const waiter = world.connect("waiter");
    waiter.call("register", { handle: "ann", clientKind: "cli" });
    const any = world.connect("any");
    any.call("register", { handle: "ann", clientKind: "cli" });
    const [all, first] = [
      waiter.request("wait", { threadId: 1, until: "all_replied" }),
      any.request("wait", { threadId: 1, until: "any_replied", timeoutMs: 1000 }),
    ];
    ann.call("cancel", { messageId: 1 });
    expect([waiter.frames, any.frames]).toEqual([[], []]);
    bob.call("reply", { messageId: 1, body: "yes" });
    expect(waiter.answer(all)).toMatchObject({ result: { conditionMet: true, matrix: [{ handle: "bob" }] } });
    expect(any.answer(first)).toMatchObject({ result: { conditionMet: true } });
    expect(ann.call("wait", { threadId: 1, until: "all_replied", timeoutMs: 0 }).conditionMet).toBe(true);
  });
});

describe("mute", () => {
  test("for a time the messages of a peer come as silent, over a restart too", () => {
    const { world, ann, bob } = talk();
    const until = world.system.wall + 60_000;
    expect(bob.call("mute", { handle: "ann", forMs: 60_000 })).toEqual({ muted: [{ handle: "ann", until }] });
    const mode = (from: typeof ann, body: string) => from.call("send", { threadId: null, to: "bob", body }).deliveries[0]?.mode;
    expect([mode(ann, "one"), mode(world.register("cal"), "two")]).toEqual(["silent", "push"]);
    world.restart();
    const back = world.register("ann");
    expect(mode(back, "three")).toBe("silent");
    expect(world.register("bob").call("whoami", {}).muted).toEqual([{ handle: "ann", until }]);
    world.advance(60_000);
    expect(mode(back, "four")).toBe("push");
  });

  test("of everybody leaves the owner out; 0 ends it", () => {
    const { world, ann, bob } = talk();
    bob.call("mute", { forMs: 60_000 });
    const owner = world.owner();
    const mode = (from: typeof ann, body: string) => from.call("send", { threadId: null, to: "bob", body }).deliveries[0]?.mode;
    expect([mode(ann, "one"), mode(owner, "two")]).toEqual(["silent", "push"]);
    expect(bob.call("mute", { forMs: 0 })).toEqual({ muted: [] });
    expect(mode(ann, "three")).toBe("push");
    expect(bob.refused("mute", { handle: "renn", forMs: 1 }).code).toBe("bad_request");
    expect(bob.refused("mute", { handle: "nobody", forMs: 1 }).code).toBe("unknown_handle");
  });
});
