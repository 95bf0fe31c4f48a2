// Who gets a reply, whom it wakes, what it settles, and when two stop waking each other (semantics §6).
import { describe, expect, test } from "bun:test";
import { World } from "../world.ts";

function crowd(options: ConstructorParameters<typeof World>[0] = {}) {
  const world = new World({ limits: { sendsPerWindow: 1000 }, ...options });
  const names = ["ann", "bob", "cal", "dee"];
  const [ann, bob, cal, dee] = names.map((name) => world.register(name, { listen: true })) as [
    ReturnType<World["register"]>,
    ReturnType<World["register"]>,
    ReturnType<World["register"]>,
    ReturnType<World["register"]>,
  ];
  return { world, ann, bob, cal, dee };
}
type Deliveries = { deliveries: { handle: string; mode: string }[] };
const modes = (result: Deliveries) => Object.fromEntries(result.deliveries.map((d) => [d.handle, d.mode]));

describe("a reply", () => {
  test("goes to every sender, recipient and via of the thread, and wakes the author of what it answers and its via", () => {
    const { world, ann, bob, cal } = crowd();
    const worker = world.session("worker");
    const shell = world.owner({}, worker.fields.host.hostPid);
    shell.call("send", { threadId: null, to: ["ann", "bob"], body: "well?" });
    ann.call("send", { threadId: 1, to: "cal", body: "you too" });
    expect(modes(bob.call("reply", { messageId: 1, body: "yes" }))).toEqual({ renn: "push", worker: "push", ann: "notify", cal: "notify" });
    expect(modes(cal.call("reply", { messageId: 2, body: "me too" }))).toEqual({
      ann: "push",
      renn: "notify",
      worker: "notify",
      bob: "notify",
    });
  });

  test("to one's own message wakes its recipients", () => {
    const { ann, bob } = crowd();
    ann.call("send", { threadId: null, to: ["bob", "cal"], body: "well?" });
    expect(modes(ann.call("reply", { messageId: 1, body: "also" }))).toEqual({ bob: "push", cal: "push" });
    expect(modes(bob.call("reply", { messageId: 2, body: "hm" }))).toEqual({ ann: "push", cal: "notify" });
  });

  test("wakes in the mode of the message that it answers", () => {
    const { ann, bob } = crowd();
    for (const [n, mode] of (["push", "notify", "silent"] as const).entries()) {
      ann.call("send", { threadId: null, to: ["bob", "cal"], body: `well ${n}?`, mode });
      const id = 2 * n + 1;
      expect(modes(bob.call("reply", { messageId: id, body: "yes" }))).toEqual({ ann: mode, cal: "notify" });
    }
  });

  test("wakes everybody where the configuration says so", () => {
    const { ann, bob } = crowd({ repliesToAll: true });
    ann.call("send", { threadId: null, to: ["bob", "cal"], body: "well?" });
    expect(modes(bob.call("reply", { messageId: 1, body: "yes" }))).toEqual({ ann: "push", cal: "push" });
  });

  test("of a group of ten costs one wake", () => {
    const { world, ann } = crowd();
    const names = Array.from({ length: 10 }, (_, n) => `member-${n}`);
    for (const name of names) world.register(name, { listen: true });
    ann.call("send", { threadId: null, to: names, body: "well?" });
    for (const name of names) world.connections.get(name)?.events();
    world.connections.get("member-3")?.call("reply", { messageId: 1, body: "yes" });
    expect([...world.connections.values()].flatMap((c) => c.pushed())).toEqual([2]);
  });

  test("by the owner via a session goes not to that session", () => {
    const { world, ann } = crowd();
    const worker = world.session("worker");
    ann.call("send", { threadId: null, to: ["worker", "renn"], body: "well?" });
    const shell = world.owner({}, worker.fields.host.hostPid);
    expect(shell.call("reply", { messageId: 1, body: "yes" })).toMatchObject({ via: "worker", deliveries: [{ handle: "ann" }] });
    const states = ann.call("collect", { threadId: 1 }).recipients;
    expect(states).toMatchObject([
      { handle: "worker", state: "replied", replyMessageId: 2 },
      { handle: "renn", state: "replied", replyMessageId: 2 },
    ]);
  });

  test("to a message that nobody knows is unknown_message", () => {
    expect(crowd().ann.refused("reply", { messageId: 5, body: "yes" }).code).toBe("unknown_message");
  });

  test("of somebody who was not asked is stored and takes part from then on", () => {
    const { ann, bob, dee } = crowd();
    ann.call("send", { threadId: null, to: "bob", body: "well?" });
    expect(modes(dee.call("reply", { messageId: 1, body: "may I" }))).toEqual({ ann: "push", bob: "notify" });
    expect(modes(bob.call("reply", { messageId: 1, body: "yes" }))).toEqual({ ann: "push", dee: "notify" });
    expect(ann.call("collect", { threadId: 1 }).recipients.map((r) => r.handle)).toEqual(["bob"]);
  });
});

describe("collect", () => {
  test("shows who answered the latest ask and how; the last verdict of a handle counts", () => {
    const { world } = crowd();
    world.play(`
      ann> send {threadId: null, to: [bob, cal, dee], body: "well?"}
      ann< ok
      bob< push
      cal< push
      dee< push
      bob> reply {messageId: 1, body: "no", verdict: disagree}
      bob< ok {messageId: 2}
      bob> reply {messageId: 1, body: "yes", verdict: agree}
      bob< ok {messageId: 3}
      bob> reply {messageId: 1, body: "as I said"}
      bob< ok {messageId: 4}
      cal> reply {messageId: 1, body: "fyi", verdict: info}
      cal< ok {messageId: 5}
      ann< push {message: {id: 2, verdict: disagree}}
      ann< push
      ann< push
      ann< push
      ann> collect {threadId: 1}
      ann< ok {threadId: 1, askMessageId: 1, recipients: [{handle: bob, state: replied, presence: online, verdict: agree, replyMessageId: 4}, {handle: cal, state: replied, verdict: info, replyMessageId: 5}, {handle: dee, state: sent, verdict: null, replyMessageId: null, repliedAt: null}], verdictTally: {agree: 1, disagree: 0, info: 1, pending: 1}}
      cal> send {threadId: 1, to: ann, body: "and you?"}
      cal< ok {messageId: 6}
      cal> collect {threadId: 1}
      cal< ok {askMessageId: 6, recipients: [{handle: ann}]}
      cal> collect {threadId: 1, messageId: 1}
      cal< ok {askMessageId: 1, verdictTally: {pending: 1}}
      cal> collect {threadId: 9}
      cal< unknown_thread
      cal> collect {threadId: 1, messageId: 99}
      cal< unknown_message
      cal> collect {threadId: 1, messageId: 2}
      cal< bad_request
    `);
  });

  test("a reply to a reply settles the ask that the chain leads to", () => {
    const { ann, bob, cal } = crowd();
    ann.call("send", { threadId: null, to: ["bob", "cal"], body: "well?" });
    bob.call("reply", { messageId: 1, body: "what?" });
    cal.call("reply", { messageId: 2, body: "that", verdict: "agree" });
    expect(ann.call("collect", { threadId: 1 }).recipients).toMatchObject([
      { handle: "bob", state: "replied", replyMessageId: 2 },
      { handle: "cal", state: "replied", replyMessageId: 3, verdict: "agree" },
    ]);
  });
});

describe("two that answer each other", () => {
  function pingPong(rounds: number, { world, ann, bob } = crowd()) {
    ann.call("send", { threadId: null, to: "bob", body: "ping" });
    const results: { throttled?: boolean }[] = [];
    for (let id = 1; id <= rounds; id++) {
      const who = id % 2 ? bob : ann;
      results.push(who.call("reply", { messageId: id, body: `round ${id}` }));
    }
    return { world, ann, bob, results };
  }

  test("wake each other twelve times in ten minutes; further ones are stored as notify, and both are told once", () => {
    const { world, ann, bob, results } = pingPong(15);
    expect(results.map((r) => r.throttled ?? false)).toEqual([...Array(12).fill(false), true, true, true]);
    expect(ann.call("thread", { threadId: 1 }).latestSeq).toBe(16);
    expect([...ann.pushed(), ...bob.pushed()].length).toBe(13);
    world.advance(60_000);
    const told = [ann, bob].map((c) =>
      c.events("notification").flatMap((e) => e.payload as { kind: string; fromHandle: string; throttled?: boolean }[]),
    );
    expect(told.flatMap((list) => list.filter((n) => n.throttled).map((n) => n.fromHandle))).toHaveLength(1);
  });

  test("start anew after ten minutes, in another thread, and with a word of the owner", () => {
    const late = pingPong(12);
    late.world.advance(600_000);
    expect(late.bob.call("reply", { messageId: 13, body: "later" })).not.toHaveProperty("throttled");
    const owned = pingPong(12);
    owned.world.owner().call("send", { threadId: 1, to: "bob", body: "go on" });
    expect(owned.bob.call("reply", { messageId: 13, body: "on" })).not.toHaveProperty("throttled");
    const elsewhere = pingPong(12);
    elsewhere.ann.call("send", { threadId: null, to: "bob", body: "new" });
    expect(elsewhere.bob.call("reply", { messageId: 14, body: "new too" })).not.toHaveProperty("throttled");
  });

  test("the owner is never throttled", () => {
    const { world, ann } = crowd();
    const owner = world.owner();
    ann.call("send", { threadId: null, to: "renn", body: "ping" });
    for (let n = 0; n < 20; n++) expect(owner.call("reply", { messageId: 1, body: `r${n}` })).not.toHaveProperty("throttled");
  });
});
