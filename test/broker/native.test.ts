// Waking idle sessions through their CLI's own socket (semantics §4, §7).
import { describe, expect, test } from "bun:test";
import { FakeNative, testPorts, World } from "../world.ts";

function native(fields: Record<string, unknown> = {}) {
  const channel = new FakeNative();
  const world = new World({ ports: testPorts({ claude: { native: channel } }) });
  const ann = world.register("ann");
  const worker = world.session("worker", fields);
  const send = (body: string) => ann.call("send", { threadId: null, to: "worker", body }).deliveries[0]?.state;
  const why = (id = 1) => {
    const delivery = (world.connections.get("ann") ?? ann).call("why", { messageId: id }).deliveries[0];
    return [delivery?.state, ...(delivery?.attempts.map((a) => `${a.channel} ${a.outcome}`) ?? [])];
  };
  const ids = () => channel.frames.splice(0).map((f) => f.ids);
  return { channel, world, ann, worker, send, why, ids };
}

describe("a wake", () => {
  test("takes the text, says whose it is, and is sent until it is proven", () => {
    const { channel, send, why, worker } = native();
    expect(send("one")).toBe("sent");
    expect(channel.frames).toMatchObject([
      { ids: [1], from: "ann", text: expect.stringMatching(/^\[murmur m1 .*\none\n/), session: { cliSessionId: "id-worker" } },
    ]);
    expect(why()).toEqual(["sent", "native open"]);
    worker.call("hook", { event: "prompt", seen: [1] });
    expect(why()).toEqual(["delivered", "native proven"]);
  });

  test("is one at a time: more mail joins the next, or the next hook", () => {
    const { send, ids, worker } = native();
    send("one");
    expect([send("two"), send("three")]).toEqual(["queued", "queued"]);
    expect(ids()).toEqual([[1]]);
    expect(worker.call("hook", { event: "prompt", seen: [1] }).texts).toHaveLength(2);
    expect(ids()).toEqual([]);
  });

  test("a prompt confirms only what went over natively", () => {
    const { worker, send, why, channel } = native();
    channel.up = false;
    send("one");
    worker.call("hook", { event: "prompt" });
    worker.call("hook", { event: "prompt", seen: [1] });
    expect(why()[0]).toBe("delivered");
    send("two");
    worker.call("hook", { event: "prompt", seen: [2, 77] });
    expect(why(2)[0]).toBe("sent");
  });

  test("without proof falls back to hooks, and is not tried again over the same way", () => {
    const { world, send, why, ids, worker } = native();
    send("one");
    world.advance(120_000);
    expect(why()).toEqual(["queued", "native no-proof"]);
    send("two");
    expect(ids()).toEqual([[1], [2]]);
    expect(worker.call("hook", { event: "prompt" }).texts).toHaveLength(1);
  });

  test("that follows another by itself has a window of its own", () => {
    const { world, send, why, ids } = native();
    send("one");
    send("two");
    world.advance(120_000);
    expect(ids()).toEqual([[1], [2]]);
    world.advance(119_999);
    expect(why(2)[0]).toBe("sent");
    world.advance(1);
    expect(why(2)).toEqual(["queued", "native no-proof"]);
  });

  test("that fails or is refused falls back at once, until the next session start", () => {
    for (const kind of ["failed", "refused"] as const) {
      const { world, channel, send, why, ids, worker } = native();
      send("one");
      channel.frames[0]?.report({ kind, reason: "no" });
      world.settle();
      expect(why()).toEqual(["queued", `native ${kind}`]);
      expect(send("two")).toBe("queued");
      expect(ids()).toEqual([[1]]);
      worker.call("session", { ...worker.fields, source: "compact" });
      send("three");
      expect(ids()).toEqual([[2, 3]]);
    }
  });

  test("that the CLI holds for the user goes no other way until it is refused or read", () => {
    const { world, channel, send, why, worker } = native();
    send("one");
    channel.frames[0]?.report({ kind: "held", reason: "asks" });
    world.settle();
    world.advance(3_600_000);
    expect(why()).toEqual(["sent", "native held"]);
    expect(worker.call("hook", { event: "post-tool" }).texts).toEqual([]);
    channel.frames[0]?.report({ kind: "refused", reason: "no" });
    world.settle();
    expect(worker.call("hook", { event: "post-tool" }).texts).toHaveLength(1);
  });

  test("the window stands still while the CLI's own queue holds it", () => {
    const { world, channel, send, why } = native();
    send("one");
    channel.holding = true;
    world.advance(1_000_000);
    expect(why()[0]).toBe("sent");
    channel.holding = false;
    world.advance(120_000);
    expect(why()[0]).toBe("queued");
  });
});

describe("no wake", () => {
  test("for a session that bypasses permissions, also after a restart, until a hook says otherwise", () => {
    const { world, send, ids, worker } = native({ bypass: true });
    expect(send("one")).toBe("queued");
    world.restart();
    expect(world.register("ann").call("send", { threadId: null, to: "worker", body: "two" }).deliveries[0]?.state).toBe("queued");
    expect(ids()).toEqual([]);
    world.connect("w").call("session", { ...worker.fields, event: "prompt", bypass: false });
    world.connections.get("ann")?.call("send", { threadId: null, to: "worker", body: "three" });
    expect(ids()).toEqual([[1, 2, 3]]);
  });

  test("for a headless run, and for one whose socket does not answer", () => {
    const headless = native({ headless: true });
    expect(headless.send("one")).toBe("queued");
    const silent = native();
    silent.channel.up = false;
    expect(silent.send("one")).toBe("queued");
    silent.channel.up = true;
    silent.send("two");
    expect(silent.ids()).toEqual([[1, 2]]);
  });
});

test("a listener comes before the CLI's own socket", () => {
  const { world, send, ids } = native();
  const tools = world.connect("tools");
  tools.call("register", { handle: "worker", clientKind: "adapter", listen: true });
  send("one");
  expect([tools.pushed(), ids()]).toEqual([[1], []]);
  tools.close();
  expect(ids()).toEqual([[1]]);
});

describe("native-register", () => {
  test("takes a fit socket and wakes through it; a session's own word does the same", () => {
    const { channel, world, worker, ann, ids } = native();
    channel.up = false;
    ann.call("send", { threadId: null, to: "worker", body: "one" });
    channel.up = true;
    expect(worker.call("native-register", { handle: "worker", socketPath: "/s", token: "t" })).toEqual({});
    expect(channel.frames[0]?.session.native).toEqual({ socketPath: "/s", token: "t" });
    expect(ids()).toEqual([[1]]);
    worker.call("session", { ...worker.fields, event: "stop", native: { socketPath: "/s2", token: "t2" } });
    ann.call("read", { ids: [1] });
    worker.call("read", { ids: [1] });
    ann.call("send", { threadId: null, to: "worker", body: "two" });
    expect(channel.frames.at(-1)?.session.native?.socketPath).toBe("/s2");
    expect(JSON.stringify(world.broker.bus.store.liveSessions())).not.toContain("t2");
  });

  test("is refused for another handle, for an unfit socket, without a session, and where the CLI has none", () => {
    const { channel, world, ann, worker } = native();
    expect(worker.refused("native-register", { handle: "ann", socketPath: "/s", token: "t" }).code).toBe("bad_request");
    expect(ann.refused("native-register", { handle: "ann", socketPath: "/s", token: "t" }).code).toBe("native_failed");
    channel.fault = "it is not a socket of ours";
    expect(worker.refused("native-register", { handle: "worker", socketPath: "/s", token: "t" })).toMatchObject({
      code: "native_failed",
      message: expect.stringContaining("not a socket of ours"),
    });
    const refused = worker.refused("session", { ...worker.fields, event: "stop", native: { socketPath: "/s", token: "t" } });
    expect(refused.code).toBe("native_failed");
    const gemini = world.session("gem", { client: "gemini" });
    expect(gemini.refused("native-register", { handle: "gem", socketPath: "/s", token: "t" }).code).toBe("native_failed");
  });
});

describe("an answer that came through the CLI's own messaging", () => {
  test("is a reply of that session, and what the bus refuses is only logged", () => {
    const { world, ann, send, worker } = native();
    send("well?");
    const say = (body: string, id = 1, session = "id-worker") => {
      world.broker.sessionSaid("claude", session, id, body);
      world.settle();
    };
    say("yes");
    say("yes");
    say(" \u200b");
    say("not mine", 99);
    say("nobody's", 1, "id-nobody");
    expect(ann.call("thread", { threadId: 1 }).messages.map((m) => [m.from, m.firstLine])).toEqual([
      ["ann", "well?"],
      ["worker", "yes"],
    ]);
    expect(ann.call("collect", { threadId: 1 }).recipients).toMatchObject([{ handle: "worker", state: "replied" }]);
    expect(world.logs.filter((l) => l.event === "session-reply-refused")).toMatchObject([{ data: { code: "duplicate" } }]);
    expect(worker.frames).toEqual([]);
  });
});

describe("a wake comes", () => {
  test("again over a channel that failed five minutes ago, but not over one that refused", () => {
    for (const [kind, woken] of [
      ["failed", [[2, 3]]],
      ["refused", []],
    ] as const) {
      const { world, channel, send, ids } = native();
      send("one");
      channel.frames[0]?.report({ kind, reason: "no" });
      world.settle();
      ids();
      send("two");
      world.advance(5 * 60_000);
      send("three");
      expect(ids()).toEqual(woken.map((group) => [...group]));
    }
  });

  test("at the end of a turn that may not go on, and not before the hook that asks for the mail", () => {
    const { channel, send, ids, worker } = native();
    channel.up = false;
    send("one");
    channel.up = true;
    worker.call("session", { ...worker.fields, event: "stop" });
    expect(ids()).toEqual([]);
    expect(worker.call("hook", { event: "stop", continuing: true })).toMatchObject({ block: false, texts: [] });
    expect(ids()).toEqual([[1]]);
  });

  test("with the words of somebody who has the tools, once a hook said so", () => {
    const { channel, send, worker } = native();
    worker.call("hook", { event: "prompt", tools: true });
    send("one");
    expect(channel.frames[0]?.text).toEndWith("[reply: reply tool with messageId 1 · thread 1]");
  });
});
