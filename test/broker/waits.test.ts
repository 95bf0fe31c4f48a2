// Waiting for replies: what ends a wait, what it hands over, what it says of those who are missing (semantics §7, §9).
import { describe, expect, test } from "bun:test";
import { World } from "../world.ts";

function asked(to: string[] = ["bob", "cal"]) {
  const world = new World();
  const ann = world.register("ann", { listen: true });
  for (const name of to) world.register(name);
  ann.call("send", { threadId: null, to, body: "well?" });
  const state = (id: number) => ann.call("why", { messageId: id, handle: "ann" }).deliveries[0]?.state;
  const reply = (name: string, body = "yes") =>
    world.connections.get(name)?.call("reply", { messageId: 1, body, verdict: "agree" }).messageId;
  return { world, ann, reply, state };
}

describe("a wait", () => {
  test("for all ends with the last reply, and hands over what it waited for instead of pushes", () => {
    const { world, state } = asked();
    world.play(`
      ann> wait {threadId: 1, until: all_replied}
      bob> reply {messageId: 1, body: "yes", verdict: agree}
      bob< ok {deliveries: [{handle: ann, state: sent, reach: now}, {handle: cal, mode: notify}]}
      ann< nothing
      cal> reply {messageId: 1, body: "no", verdict: disagree}
      cal< ok {messageId: 3}
      ann< ok {threadId: 1, conditionMet: true, timedOut: false, askMessageId: 1, matrix: [{handle: bob, state: replied, verdict: agree, replyMessageId: 2}, {handle: cal, state: replied, verdict: disagree, replyMessageId: 3}], replies: [{id: 2, seq: 2, from: bob, verdict: agree, body: "yes"}, {id: 3, from: cal}], notes: []}
      ann< nothing
    `);
    expect([state(2), state(3)]).toEqual(["acknowledged", "acknowledged"]);
    world.advance(600_000);
    expect(world.connections.get("ann")?.events("push")).toEqual([]);
  });

  test("for any ends with the first; a later one goes on without loss", () => {
    const { world } = asked();
    world.play(`
      ann> wait {threadId: 1, until: any_replied}
      cal> reply {messageId: 1, body: "me first"}
      cal< ok
      ann< ok {conditionMet: true, matrix: [{handle: bob, replyMessageId: null}, {handle: cal}], replies: [{from: cal}]}
      ann> wait {threadId: 1, until: all_replied}
      bob> reply {messageId: 1, body: "me too"}
      bob< ok
      ann< ok {conditionMet: true, replies: [{from: cal}, {from: bob}]}
      ann< nothing
    `);
  });

  test("is met at once where it holds, and with 0 looks once", () => {
    const { world, reply } = asked();
    world.play(`
      ann> wait {threadId: 1, until: any_replied, timeoutMs: 0}
      ann< ok {conditionMet: false, timedOut: true}
    `);
    reply("bob");
    world.connections.get("ann")?.events();
    world.play(`
      ann> wait {threadId: 1, until: any_replied, timeoutMs: 0}
      ann< ok {conditionMet: true, timedOut: false}
    `);
  });

  test("has 120 s without a word, and at most 300 s", () => {
    for (const [timeoutMs, ends] of [
      [undefined, 120_000],
      [5_000_000, 300_000],
      [1500, 1500],
    ] as const) {
      const { world, ann } = asked();
      const id = ann.request("wait", { threadId: 1, until: "all_replied", timeoutMs });
      world.advance(ends - 1);
      expect(ann.frames).toEqual([]);
      world.advance(1);
      expect(ann.answer(id)).toMatchObject({ ok: true, result: { conditionMet: false, timedOut: true } });
    }
  });

  test("that times out names who has it, who has not confirmed it and who is away, and hands over what came", () => {
    const { world, ann, reply, state } = asked(["bob", "cal", "dee", "eve"]);
    world.connections.get("cal")?.call("read", { ids: [1] });
    world.connections.get("eve")?.close();
    world.advance(5000);
    const id = ann.request("wait", { threadId: 1, until: "all_replied", timeoutMs: 1000 });
    reply("bob");
    world.advance(1000);
    expect(ann.answer(id)).toMatchObject({
      result: {
        conditionMet: false,
        timedOut: true,
        replies: [{ id: 2, from: "bob" }],
        notes: [
          { kind: "unanswered", handles: ["cal"] },
          { kind: "unconfirmed", handles: ["dee"] },
          { kind: "offline", handles: ["eve"] },
        ],
      },
    });
    expect(state(2)).toBe("acknowledged");
  });

  test("is about the caller's latest ask, else the thread's, or the one that is named", () => {
    const { world, ann } = asked();
    ann.call("send", { threadId: 1, to: "cal", body: "second" });
    const bob = world.connections.get("bob");
    const about = (c: typeof bob, fields = {}) =>
      c?.call("wait", { threadId: 1, until: "any_replied", timeoutMs: 0, ...fields }).askMessageId;
    expect(about(ann)).toBe(2);
    expect(about(ann, { messageId: 1 })).toBe(1);
    expect(about(bob)).toBe(2);
    bob?.call("send", { threadId: 1, to: "ann", body: "bob's" });
    expect([about(ann), about(bob)]).toEqual([2, 3]);
    expect(ann.refused("wait", { threadId: 4, until: "any_replied" }).code).toBe("unknown_thread");
    expect(ann.refused("wait", { threadId: 1, until: "any_replied", messageId: 9 }).code).toBe("unknown_message");
  });

  test("does not move on replies to another ask", () => {
    const { world, ann } = asked();
    ann.call("send", { threadId: 1, to: ["bob", "cal"], body: "second" });
    ann.request("wait", { threadId: 1, until: "any_replied" });
    world.connections.get("bob")?.call("reply", { messageId: 1, body: "to the first" });
    expect(ann.frames.some((f) => "id" in f)).toBe(false);
    world.connections.get("bob")?.call("reply", { messageId: 2, body: "to the second" });
    expect(ann.frames.some((f) => "id" in f)).toBe(true);
  });

  test("lets events through while it lasts", () => {
    const { world, ann } = asked();
    ann.request("wait", { threadId: 1, until: "all_replied" });
    world.connections.get("bob")?.call("send", { threadId: null, to: "ann", body: "by the way" });
    expect(ann.pushed()).toEqual([2]);
  });
});

describe("replies that a wait took", () => {
  test("are given to every open wait on the thread, of the session too through which the owner waits", () => {
    const world = new World();
    const worker = world.session("worker");
    world.register("bob");
    const shell = world.owner({}, worker.fields.host.hostPid);
    const second = world.connect("second");
    second.call("register", { owner: true, clientKind: "cli" });
    shell.call("send", { threadId: null, to: "bob", body: "well?" });
    const ids = [
      shell.request("wait", { threadId: 1, until: "all_replied" }),
      second.request("wait", { threadId: 1, until: "all_replied" }),
    ];
    world.connections.get("bob")?.call("reply", { messageId: 1, body: "yes" });
    for (const [n, c] of [shell, second].entries()) expect(c.answer(ids[n] ?? 0)).toMatchObject({ result: { replies: [{ id: 2 }] } });
    expect(worker.call("hook", { event: "prompt" }).texts).toEqual([]);
    expect(shell.call("inbox", { unreadOnly: true }).unreadTotal).toBe(0);
  });

  test("go back when the connection is dropped, to another wait or to the next channel", () => {
    const { world, ann, reply } = asked();
    const first = world.connect("first");
    const second = world.connect("second");
    for (const c of [first, second]) c.call("register", { handle: "ann", clientKind: "cli" });
    first.request("wait", { threadId: 1, until: "all_replied" });
    const id = second.request("wait", { threadId: 1, until: "all_replied" });
    reply("bob");
    first.close();
    expect(ann.pushed()).toEqual([]);
    second.close();
    expect(ann.pushed()).toEqual([2]);
    expect(() => second.answer(id)).toThrow();
    reply("cal");
    expect(ann.pushed()).toEqual([3]);
  });

  test("are sent until the line was taken; a client that confirms says delivered", () => {
    for (const confirm of [false, true]) {
      const { world, ann, reply, state } = asked(["bob"]);
      const waiter = world.connect("waiter");
      waiter.call("register", { handle: "ann", clientKind: "cli" });
      waiter.slow = true;
      const id = waiter.request("wait", { threadId: 1, until: "all_replied", confirm });
      reply("bob");
      expect(waiter.answer(id)).toMatchObject({ result: { conditionMet: true } });
      expect(state(2)).toBe("sent");
      waiter.drain();
      expect(state(2)).toBe(confirm ? "sent" : "acknowledged");
      if (!confirm) continue;
      waiter.call("delivered", { ids: [2] });
      expect([state(2), ann.pushed()]).toEqual(["acknowledged", []]);
    }
  });

  test("that were not confirmed are pushed when the window is over or the connection is gone", () => {
    for (const end of ["window", "close"] as const) {
      const { world, ann, reply } = asked(["bob"]);
      const waiter = world.connect("waiter");
      waiter.call("register", { handle: "ann", clientKind: "cli" });
      waiter.request("wait", { threadId: 1, until: "all_replied", confirm: true });
      reply("bob");
      if (end === "window") world.advance(120_000);
      else waiter.close();
      expect(ann.pushed()).toEqual([2]);
    }
  });
});

describe("early", () => {
  test("ends when nobody is left who could answer, and says who", () => {
    const world = new World();
    const ann = world.register("ann");
    const names = Array.from({ length: 5 }, (_, n) => `dead-${n}`);
    for (const name of names) world.register(name).close();
    world.advance(5000);
    const bob = world.session("bob");
    ann.call("send", { threadId: null, to: [...names, "bob"], body: "well?" });
    const id = ann.request("wait", { threadId: 1, until: "all_replied", early: true });
    expect(ann.frames).toEqual([]);
    bob.call("reply", { messageId: 1, body: "yes" });
    expect(ann.answer(id)).toMatchObject({
      result: {
        conditionMet: false,
        timedOut: false,
        replies: [{ from: "bob" }],
        notes: [{ kind: "offline" }, { kind: "gone", handles: names }],
      },
    });
  });

  test("ends when the last one leaves: by goodbye after three seconds, by death within six, by its connection after five", () => {
    const leave: [string, (w: World) => void, number][] = [
      [
        "goodbye",
        (w) => w.connections.get("bob")?.request("session", { ...w.sessionFields("bob", { pid: 1000 }), event: "session-end" }),
        3000,
      ],
      ["death", (w) => w.system.kill(1000), 6000],
    ];
    for (const [, how, within] of leave) {
      const world = new World();
      world.session("bob", { pid: world.system.start(1, 1000) });
      const ann = world.register("ann");
      ann.call("send", { threadId: null, to: "bob", body: "well?" });
      const id = ann.request("wait", { threadId: 1, until: "all_replied", early: true });
      how(world);
      expect(ann.frames).toEqual([]);
      world.advance(within);
      expect(ann.answer(id)).toMatchObject({
        result: { timedOut: false, notes: [{ kind: "offline" }, { kind: "gone", handles: ["bob"] }] },
      });
    }
    const { world, ann } = asked(["bob"]);
    const id = ann.request("wait", { threadId: 1, until: "all_replied", early: true });
    world.connections.get("bob")?.close();
    world.advance(5000);
    expect(ann.answer(id)).toMatchObject({ result: { notes: [{ kind: "offline" }, { kind: "gone", handles: ["bob"] }] } });
  });

  test("counts nobody as gone who is only clearing, whatever happens meanwhile", () => {
    const world = new World();
    const ann = world.register("ann");
    const worker = world.session("worker");
    const cal = world.register("cal");
    ann.call("send", { threadId: null, to: ["worker", "cal"], body: "well?" });
    const id = ann.request("wait", { threadId: 1, until: "all_replied", early: true });
    worker.call("session", { ...worker.fields, event: "session-end" });
    cal.call("reply", { messageId: 1, body: "yes" });
    world.advance(2000);
    const next = { ...worker.fields, handle: undefined, source: "clear", cliSessionId: "after" };
    worker.call("session", next);
    world.advance(5000);
    expect(() => ann.answer(id)).toThrow();
    worker.call("session", { ...next, event: "session-end" });
    world.advance(3000);
    expect(ann.answer(id)).toMatchObject({ result: { notes: [{ kind: "offline" }, { kind: "gone", handles: ["worker"] }] } });
  });

  test("without it a wait lasts, whoever is gone", () => {
    const { world, ann } = asked(["bob"]);
    world.connections.get("bob")?.close();
    world.advance(5000);
    ann.request("wait", { threadId: 1, until: "all_replied" });
    world.advance(100_000);
    expect(ann.frames.filter((f) => "id" in f)).toEqual([]);
  });

  test("a circle of three ends in all three", () => {
    const world = new World();
    const names = ["ann", "bob", "cal"];
    const [ann, bob, cal] = names.map((name) => world.register(name));
    ann?.call("send", { threadId: null, to: "bob", body: "1" });
    bob?.call("send", { threadId: null, to: "cal", body: "2" });
    cal?.call("send", { threadId: null, to: "ann", body: "3" });
    const ids = [ann, bob, cal].map((c, n) => c?.request("wait", { threadId: n + 1, until: "all_replied", early: true }) ?? 0);
    expect(cal?.answer(ids[2] ?? 0)).toMatchObject({
      result: {
        conditionMet: false,
        timedOut: false,
        notes: [{ kind: "unconfirmed" }, { kind: "circle", handles: ["cal", "ann", "bob"] }],
      },
    });
    for (const [n, c] of [ann, bob].entries())
      expect(c?.answer(ids[n] ?? 0)).toMatchObject({ result: { conditionMet: false, timedOut: false } });
  });

  test("a wait for any goes on while one could still answer that is outside of the circle", () => {
    const { world, ann, reply } = asked(["bob", "cal"]);
    const bob = world.connections.get("bob");
    bob?.call("send", { threadId: null, to: "ann", body: "mine" });
    bob?.request("wait", { threadId: 2, until: "all_replied" });
    const id = ann.request("wait", { threadId: 1, until: "any_replied", early: true });
    expect(ann.frames.filter((f) => "id" in f)).toEqual([]);
    reply("cal");
    expect(ann.answer(id)).toMatchObject({ result: { conditionMet: true } });
  });
});

test("at the broker's stop open waits hear broker_closed, and what stood behind them too", () => {
  const { world, ann } = asked();
  const ids = [
    ann.request("wait", { threadId: 1, until: "all_replied" }),
    ann.request("send", { threadId: null, to: "bob", body: "behind the wait" }),
    ann.request("nonsense"),
  ];
  world.broker.stop();
  for (const id of ids) expect(ann.answer(id)).toMatchObject({ ok: false, error: { code: "broker_closed" } });
});
