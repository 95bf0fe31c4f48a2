// Inbox, read and thread: what they show, and how large answers are taken in parts (semantics §2, §9).
import { describe, expect, test } from "bun:test";
import { World } from "../world.ts";

const mib = 1_048_576;

function two() {
  const world = new World({ limits: { sendsPerWindow: 10_000 } });
  return { world, ann: world.register("ann"), bob: world.register("bob"), cal: world.register("cal") };
}

describe("inbox", () => {
  test("shows the caller's threads, newest first, with what is unread in them", () => {
    const { world } = two();
    world.play(`
      ann> send {threadId: null, to: bob, body: "one\\nmore"}
      ann< ok
      cal> send {threadId: null, to: [bob, ann], body: two}
      cal< ok
      ann> send {threadId: 1, to: bob, body: three, mode: silent}
      ann< ok
      bob> inbox {unreadOnly: true}
      bob< ok {handle: bob, unreadTotal: 3, threads: [{threadId: 1, unread: 2, latestSeq: 2, from: ann, firstLine: three, messages: [{id: 1, firstLine: one, state: queued}, {id: 3}]}, {threadId: 2, unread: 1, from: cal, messages: [{id: 2}]}]}
      bob> ack {ids: [1, 3]}
      bob< ok {acknowledged: [1, 3]}
      bob> inbox {unreadOnly: true}
      bob< ok {unreadTotal: 1, threads: [{threadId: 2}]}
      bob> inbox {unreadOnly: false}
      bob< ok {unreadTotal: 1, threads: [{threadId: 1, unread: 0, messages: []}, {threadId: 2, unread: 1}]}
    `);
    const inbox = world.connections.get("bob")?.call("inbox", { unreadOnly: false });
    expect(inbox?.threads[0]?.lastAt).toBe(world.system.wall);
  });

  test("keeps to the newest fifty threads where it is not unread only", () => {
    const { ann, bob } = two();
    for (let n = 0; n < 60; n++) ann.call("send", { threadId: null, to: "bob", body: `m${n}` });
    const ids = (unreadOnly: boolean) => bob.call("inbox", { unreadOnly }).threads.map((t) => t.threadId);
    expect(ids(false)).toEqual(Array.from({ length: 50 }, (_, n) => 60 - n));
    expect(ids(true)).toHaveLength(60);
    bob.call("ack", { ids: Array.from({ length: 60 }, (_, n) => n + 1) });
    expect(ids(false)).toEqual(Array.from({ length: 50 }, (_, n) => 60 - n));
    expect(ids(true)).toEqual([]);
  });

  test("stops at four MiB and says so", () => {
    const { ann, bob } = two();
    for (let n = 0; n < 150; n++)
      ann.call("send", { threadId: null, to: "bob", body: `m${n}`, references: Array(20).fill(`${n}`.padEnd(399, "\u0001")) });
    const id = bob.request("inbox", { unreadOnly: true });
    expect(bob.lines.at(-1)?.length).toBeLessThan(4 * mib);
    const answer = bob.answer(id);
    expect(answer).toMatchObject({ ok: true, result: { unreadTotal: 150, more: true } });
  });
});

describe("read", () => {
  test("gives any message in full and marks only the caller's own; an unknown one moves nothing", () => {
    const { world, ann, bob, cal } = two();
    ann.call("send", { threadId: null, to: "bob", body: "x".repeat(5000) });
    ann.call("send", { threadId: null, to: "cal", body: "two" });
    expect(cal.call("read", { ids: [1] }).messages[0]).toMatchObject({ body: "x".repeat(5000), length: 5000, truncated: true });
    expect(cal.call("read", { ids: [1] }).messages[0]).not.toHaveProperty("state");
    expect(bob.refused("read", { ids: [1, 7] })).toMatchObject({ code: "unknown_message" });
    expect(ann.call("collect", { threadId: 1 }).recipients[0]?.state).toBe("queued");
    expect(bob.call("read", { ids: [2, 1, 2] }).messages.map((m) => [m.id, m.state])).toEqual([
      [2, undefined],
      [1, "delivered"],
      [2, undefined],
    ]);
    expect(world.broker.bus.handouts.size).toBe(0);
  });

  test("stops at four MiB, names the next id, and counts only what it gave as read", () => {
    const { ann, bob } = two();
    const ids = Array.from(
      { length: 8 },
      (_, n) => ann.call("send", { threadId: null, to: "bob", body: `${n}`.padEnd(150_000, "\u0001") }).messageId,
    );
    const id = bob.request("read", { ids });
    expect(Buffer.byteLength(bob.lines.at(-1) ?? "")).toBeLessThanOrEqual(4 * mib);
    const { result } = bob.answer(id) as { result: { messages: { id: number }[]; more: boolean; nextId: number } };
    expect(result.more).toBe(true);
    expect(result.nextId).toBe((result.messages.at(-1)?.id ?? 0) + 1);
    const states = ids.map((messageId) => ann.call("why", { messageId }).deliveries[0]?.state);
    expect(states).toEqual(ids.map((n) => (n < result.nextId ? "delivered" : "queued")));
    const rest = bob.call("read", { ids: ids.filter((n) => n >= result.nextId) });
    expect([rest.messages[0]?.id, rest.more]).toEqual([result.nextId, undefined]);
  });

  test("one message of nearly a MiB of what JSON makes six times as long still goes", () => {
    const { ann, bob } = two();
    const body = `x${"\u0001".repeat(174_000)}`;
    ann.call("send", { threadId: null, to: "bob", body });
    expect(bob.call("read", { ids: [1, 1, 1] }).messages.map((m) => m.body)).toEqual([body, body, body]);
  });
});

describe("thread", () => {
  test("shows summaries, since a seq, in full, or one message with its replies", () => {
    const { world } = two();
    world.play(`
      ann> send {threadId: null, to: [bob, cal], body: "well?"}
      ann< ok
      bob> reply {messageId: 1, body: "yes", verdict: agree}
      bob< ok
      cal> reply {messageId: 2, body: "really?"}
      cal< ok
      ann> thread {threadId: 1, sinceSeq: null, full: false}
      ann< ok {threadId: 1, latestSeq: 3, messages: [{id: 1, seq: 1, kind: ask, replyTo: null}, {id: 2, seq: 2, kind: reply, replyTo: 1, verdict: agree, from: bob, to: [ann, cal]}, {id: 3, replyTo: 2, verdict: null}]}
      ann> thread {threadId: 1, sinceSeq: 2}
      ann< ok {latestSeq: 3, messages: [{id: 3}]}
      ann> thread {threadId: 1, sinceSeq: 3}
      ann< ok {latestSeq: 3, messages: []}
      ann> thread {threadId: 1, full: true, sinceSeq: 1}
      ann< ok {messages: [{id: 2, body: "yes", state: acknowledged}, {id: 3, body: "really?"}]}
      ann> thread {threadId: 1, messageId: 1}
      ann< ok {messages: [{id: 1, body: "well?"}, {id: 2, body: "yes"}]}
      ann> thread {threadId: 1, messageId: 3}
      ann< ok {messages: [{id: 3, body: "really?"}]}
      ann> send {threadId: null, to: bob, body: "other"}
      ann< ok {messageId: 4}
      ann> thread {threadId: 1, messageId: 4}
      ann< bad_request {message: /messageId/}
      ann> thread {threadId: 1, messageId: 77}
      ann< unknown_message
      ann> thread {threadId: 77}
      ann< unknown_thread
    `);
    expect(world.connections.get("ann")?.call("thread", { threadId: 1 }).messages[0]).not.toHaveProperty("body");
  });

  test("in full stops at four MiB, names the next seq, and goes on from there", () => {
    const { ann, bob } = two();
    ann.call("send", { threadId: null, to: "bob", body: "日".repeat(300_000) });
    for (let n = 0; n < 8; n++) ann.call("send", { threadId: 1, to: "bob", body: `${n}`.padEnd(300_000, "日") });
    const seen: number[] = [];
    for (let sinceSeq = 0, more = true; more; ) {
      const page = bob.call("thread", { threadId: 1, full: true, sinceSeq });
      expect(Buffer.byteLength(bob.lines.at(-1) ?? "")).toBeLessThanOrEqual(4 * mib);
      seen.push(...page.messages.map((m) => m.seq));
      expect(bob.call("inbox", { unreadOnly: true }).threads[0]?.messages.filter((m) => m.state === "queued")).toHaveLength(
        9 - seen.length,
      );
      more = page.more ?? false;
      sinceSeq = page.nextSeq ?? 0;
    }
    expect(seen).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });
});

describe("a summary", () => {
  test("has a first line of at most 120 characters and a length in code points", () => {
    const { ann, bob } = two();
    ann.call("send", { threadId: null, to: "bob", body: `\n\n  ${"😀".repeat(130)}\nsecond` });
    const message = bob.call("thread", { threadId: 1 }).messages[0];
    expect([...(message?.firstLine ?? "")]).toHaveLength(120);
    expect(message).toMatchObject({ length: 4 + 130 + 7, truncated: false });
    ann.call("send", { threadId: null, to: "bob", body: "x".repeat(4001) });
    expect(bob.call("thread", { threadId: 2 }).messages[0]).toMatchObject({ truncated: true, length: 4001 });
  });

  test("times come from the wall clock and the order from ids, also when the clock jumps back", () => {
    const { world, ann, bob } = two();
    ann.call("send", { threadId: null, to: "bob", body: "first" });
    world.system.wall -= 86_400_000;
    ann.call("send", { threadId: null, to: "bob", body: "second" });
    expect(bob.call("inbox", { unreadOnly: true }).threads.map((t) => t.threadId)).toEqual([2, 1]);
    expect(bob.call("hook", { event: "prompt" }).texts.map((t) => t.includes("first"))).toEqual([true, false]);
  });
});
