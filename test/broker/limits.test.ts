// What is refused because of what came before: duplicates, rate, caps, and the keys that make a second try safe (semantics §2, §5).
import { describe, expect, test } from "bun:test";
import { World } from "../world.ts";

const hi = { threadId: null, to: "bob", body: "hi" };

function two(options: ConstructorParameters<typeof World>[0] = {}) {
  const world = new World(options);
  return { world, ann: world.register("ann"), bob: world.register("bob"), cal: world.register("cal") };
}

describe("duplicates", () => {
  test("six equal sends within the window: one stored, five name it; after the window: stored", () => {
    const { world, ann, bob } = two();
    expect(ann.call("send", hi).messageId).toBe(1);
    for (let n = 0; n < 5; n++) expect(ann.refused("send", hi)).toMatchObject({ code: "duplicate", messageId: 1 });
    world.advance(59_999);
    expect(ann.refused("send", hi).code).toBe("duplicate");
    world.advance(1);
    expect(ann.call("send", hi).messageId).toBe(2);
    expect(bob.call("inbox", { unreadOnly: true }).unreadTotal).toBe(2);
  });

  test("are told by sender, thread, resolved recipients and body, and by nothing else", () => {
    const { ann, cal } = two();
    ann.call("groups", { action: "create", name: "crew", members: ["bob", "ann"] });
    ann.call("send", hi);
    for (const same of [
      { ...hi, to: ["bob"] },
      { ...hi, to: "@crew" },
      { ...hi, to: ["ann", "crew"] },
      { ...hi, mode: "silent" },
      { ...hi, references: ["x"] },
    ])
      expect(ann.refused("send", same).code).toBe("duplicate");
    for (const other of [
      { ...hi, body: "hi " },
      { ...hi, to: ["bob", "cal"] },
      { ...hi, threadId: 1 },
      { ...hi, to: "cal" },
    ])
      ann.call("send", other);
    cal.call("send", hi);
  });

  test("of replies are told by sender, message, verdict and body", () => {
    const { ann, bob } = two();
    ann.call("send", { ...hi, to: ["bob", "cal"] });
    bob.call("reply", { messageId: 1, body: "yes" });
    expect(bob.refused("reply", { messageId: 1, body: "yes", references: ["x"] })).toMatchObject({ code: "duplicate", messageId: 2 });
    bob.call("reply", { messageId: 1, body: "yes", verdict: "agree" });
    bob.call("reply", { messageId: 2, body: "yes" });
  });

  test("run on the monotonic clock, and over a restart", () => {
    const { world, ann } = two();
    ann.call("send", hi);
    world.system.wall += 3_600_000;
    expect(ann.refused("send", hi).code).toBe("duplicate");
    world.system.wall -= 3_600_000;
    world.advance(30_000);
    world.restart();
    const again = world.register("ann");
    expect(again.refused("send", hi)).toMatchObject({ code: "duplicate", messageId: 1 });
    world.advance(30_000);
    expect(again.call("send", hi).messageId).toBe(2);
  });
});

describe("rate", () => {
  test("twenty stored sends and replies in a sliding minute; the next says when there is room", () => {
    const { world, ann, bob } = two();
    for (let n = 0; n < 10; n++) ann.call("send", { ...hi, body: `s${n}` });
    world.advance(20_000);
    for (let n = 0; n < 10; n++) ann.call("reply", { messageId: 1, body: `r${n}` });
    expect(ann.refused("send", { ...hi, body: "over" })).toMatchObject({ code: "rate_limited", retryAfterMs: 40_000 });
    expect(ann.refused("reply", { messageId: 1, body: "over" }).code).toBe("rate_limited");
    bob.call("send", { threadId: null, to: "ann", body: "mine goes" });
    world.advance(39_999);
    expect(ann.refused("send", { ...hi, body: "over" })).toMatchObject({ code: "rate_limited", retryAfterMs: 1 });
    world.advance(1);
    for (let n = 0; n < 10; n++) ann.call("send", { ...hi, body: `t${n}` });
    expect(ann.refused("send", { ...hi, body: "over" })).toMatchObject({ code: "rate_limited", retryAfterMs: 20_000 });
  });

  test("refused ones count for nothing", () => {
    const { ann } = two();
    for (let n = 0; n < 19; n++) ann.call("send", { ...hi, body: `s${n}` });
    for (let n = 0; n < 10; n++) ann.refused("send", { ...hi, body: "s1" });
    for (let n = 0; n < 10; n++) ann.refused("send", { ...hi, to: "nobody" });
    ann.call("send", { ...hi, body: "the twentieth" });
    expect(ann.refused("send", { ...hi, body: "21" }).code).toBe("rate_limited");
  });

  test("holds over a restart", () => {
    const { world, ann } = two();
    for (let n = 0; n < 20; n++) ann.call("send", { ...hi, body: `s${n}` });
    world.advance(10_000);
    world.restart();
    const again = world.register("ann");
    expect(again.refused("send", { ...hi, body: "over" })).toMatchObject({ code: "rate_limited", retryAfterMs: 50_000 });
  });
});

describe("caps", () => {
  test("a thread holds 500 messages, replies too", () => {
    const { world, ann, bob } = two({ limits: { threadMessagesMax: 3, sendsPerWindow: 1000 } });
    ann.call("send", hi);
    ann.call("send", { ...hi, threadId: 1, body: "2" });
    bob.call("reply", { messageId: 1, body: "3" });
    expect(ann.refused("send", { ...hi, threadId: 1, body: "4" }).code).toBe("cap_thread");
    expect(bob.refused("reply", { messageId: 1, body: "4" }).code).toBe("cap_thread");
    expect(ann.call("send", { ...hi, body: "4" }).threadId).toBe(2);
    expect(world.broker.bus.nextMessageId).toBe(5);
  });

  test("a recipient holds 200 unread; a named one that is full refuses all of it, and what was read makes room", () => {
    const { ann, bob, cal } = two({ limits: { unreadMax: 2 } });
    ann.call("send", hi);
    ann.call("send", { ...hi, body: "2", mode: "silent" });
    expect(ann.refused("send", { ...hi, to: ["cal", "bob"], body: "3" })).toMatchObject({ code: "cap_inbox", handles: ["bob"] });
    expect(cal.call("inbox", { unreadOnly: true }).unreadTotal).toBe(0);
    bob.call("read", { ids: [1] });
    expect(ann.refused("send", { ...hi, body: "3" }).code).toBe("cap_inbox");
    bob.call("ack", { ids: [1] });
    ann.call("send", { ...hi, body: "3" });
  });

  test("full members of groups and @all are left out and listed, unless nobody is left", () => {
    const { ann } = two({ limits: { unreadMax: 1 } });
    ann.call("groups", { action: "create", name: "crew", members: ["bob", "cal"] });
    ann.call("send", hi);
    const result = ann.call("send", { ...hi, to: "crew", body: "2" });
    expect([result.deliveries.map((d) => d.handle), result.skipped]).toEqual([["cal"], ["bob"]]);
    expect(ann.call("thread", { threadId: 2 }).messages[0]?.to).toEqual(["cal"]);
    expect(ann.refused("send", { ...hi, to: "crew", body: "3" })).toMatchObject({ code: "cap_inbox", handles: ["bob", "cal"] });
    expect(ann.call("send", { ...hi, to: "@all", body: "3" })).toMatchObject({ deliveries: [{ handle: "renn" }], skipped: ["bob", "cal"] });
    expect(ann.refused("send", { ...hi, to: ["@all", "bob"], body: "4" })).toMatchObject({ code: "cap_inbox", handles: ["bob"] });
  });

  test("replies are never refused by a full inbox", () => {
    const { ann, bob } = two({ limits: { unreadMax: 1 } });
    ann.call("send", hi);
    bob.call("send", { threadId: null, to: "ann", body: "fills it" });
    expect(bob.call("reply", { messageId: 1, body: "still goes" }).deliveries).toMatchObject([{ handle: "ann" }]);
  });

  test("the checks come in their order", () => {
    const { ann, bob } = two({ limits: { unreadMax: 1, threadMessagesMax: 1, sendsPerWindow: 2 } });
    ann.call("send", { ...hi, key: "k" });
    ann.call("send", { ...hi, to: "cal" });
    const over = { threadId: 1, to: "bob", body: "hi" };
    expect(ann.refused("send", { ...over, threadId: 9, to: "nobody" }).code).toBe("unknown_thread");
    expect(ann.refused("send", { ...over, to: "nobody", key: "k" }).code).toBe("unknown_handle");
    expect(ann.refused("send", { ...over, key: "k" }).code).toBe("bad_request");
    expect(ann.refused("send", hi).code).toBe("duplicate");
    expect(ann.refused("send", over).code).toBe("rate_limited");
    expect(bob.refused("send", { ...over, to: "cal" }).code).toBe("cap_thread");
    expect(bob.refused("send", { ...over, threadId: null, to: "cal" }).code).toBe("cap_inbox");
  });
});

describe("key", () => {
  test("the same key with the same content gives the first result again, and one row", () => {
    const { ann, bob } = two();
    const first = ann.call("send", { ...hi, key: "k1" });
    const again = ann.call("send", { ...hi, key: "k1" });
    expect(again).toEqual({ ...first, repeated: true });
    const reply = bob.call("reply", { messageId: 1, body: "yes", key: "k1" });
    expect(bob.call("reply", { messageId: 1, body: "yes", key: "k1" })).toEqual({ ...reply, repeated: true });
    expect(ann.call("thread", { threadId: 1 }).latestSeq).toBe(2);
  });

  test("with other content it is bad_request, and another sender's key is another", () => {
    const { ann, cal } = two();
    ann.call("send", { ...hi, key: "k" });
    for (const other of [
      { ...hi, body: "ho" },
      { ...hi, to: "cal" },
      { ...hi, mode: "notify" },
      { ...hi, references: ["x"] },
      { ...hi, threadId: 1 },
    ])
      expect(ann.refused("send", { ...other, key: "k" })).toMatchObject({ code: "bad_request", messageId: 1 });
    expect(ann.refused("reply", { messageId: 1, body: "hi", key: "k" }).code).toBe("bad_request");
    expect(cal.call("send", { ...hi, key: "k" }).messageId).toBe(2);
  });

  test("comes before duplicate and rate, holds over restarts and renames, and for a day", () => {
    const { world, ann } = two({ limits: { sendsPerWindow: 1 } });
    ann.call("send", { ...hi, key: "k" });
    expect(ann.call("send", { ...hi, key: "k" })).toMatchObject({ messageId: 1, repeated: true });
    expect(ann.refused("send", { ...hi, key: "other" }).code).toBe("duplicate");
    ann.call("name", { handle: "anna" });
    world.restart();
    const anna = world.register("anna");
    world.advance(24 * 3_600_000 - 1);
    expect(anna.call("send", { ...hi, key: "k" })).toMatchObject({ messageId: 1, repeated: true });
    world.advance(1);
    expect(anna.call("send", { ...hi, key: "k" })).toMatchObject({ messageId: 2 });
  });
});
