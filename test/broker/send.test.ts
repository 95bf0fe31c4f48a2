// Who gets a message, and what its sender is told (semantics §5).
import { describe, expect, test } from "bun:test";
import { FakeNative, testPorts, World } from "../world.ts";

function four() {
  const world = new World();
  const [ann, bob, cal, dee] = ["ann", "bob", "cal", "dee"].map((name) => world.register(name)) as [
    ReturnType<World["register"]>,
    ReturnType<World["register"]>,
    ReturnType<World["register"]>,
    ReturnType<World["register"]>,
  ];
  ann.call("groups", { action: "create", name: "crew", members: ["ann", "bob", "cal"] });
  const handles = (to: unknown, from = ann, threadId: number | null = null) => {
    world.advance(61_000);
    return from.call("send", { threadId, to, body: "hi" }).deliveries.map((d) => d.handle);
  };
  return { world, ann, bob, cal, dee, handles };
}

describe("recipients", () => {
  test("handles, groups and both are one set without the sender", () => {
    const { handles } = four();
    expect(handles("bob")).toEqual(["bob"]);
    expect(handles(["bob", "bob"])).toEqual(["bob"]);
    expect(handles(["bob", "ann"])).toEqual(["bob"]);
    expect(handles("crew")).toEqual(["bob", "cal"]);
    expect(handles("@crew")).toEqual(["bob", "cal"]);
    expect(handles(["cal", "@crew", "crew", "dee"])).toEqual(["cal", "bob", "dee"]);
  });

  test("@all is everybody who is here, the owner in, headless runs and the offline out", () => {
    const { world, dee, handles } = four();
    world.session("worker");
    world.session("run", { headless: true });
    world.system.kill(world.session("gone").fields.host.hostPid);
    dee.close();
    world.advance(6000);
    expect(handles("@all").sort()).toEqual(["bob", "cal", "renn", "worker"]);
  });

  test("nobody left is bad_request", () => {
    const { ann } = four();
    ann.call("groups", { action: "create", name: "self", members: ["ann"] });
    ann.call("groups", { action: "create", name: "empty" });
    for (const to of ["ann", ["ann", "@self"], "empty"])
      expect(ann.refused("send", { threadId: null, to, body: "hi" })).toMatchObject({
        code: "bad_request",
        message: expect.stringMatching(/^nobody is left to send to in (ann|empty)/),
      });
  });

  test("a name that is nobody's refuses all of it, and says which and what is near", () => {
    const { ann, bob } = four();
    expect(ann.refused("send", { threadId: null, to: ["bob", "cap"], body: "hi" })).toMatchObject({
      code: "unknown_handle",
      handle: "cap",
      suggestions: expect.arrayContaining(["cal"]),
    });
    expect(ann.refused("send", { threadId: null, to: ["bob", "@nobody"], body: "hi" }).code).toBe("unknown_group");
    expect(ann.refused("send", { threadId: null, to: "@bob", body: "hi" }).code).toBe("unknown_group");
    expect(ann.refused("send", { threadId: null, to: "xxxxxxx", body: "hi" })).not.toHaveProperty("suggestions");
    expect(bob.call("inbox", { unreadOnly: true }).unreadTotal).toBe(0);
  });

  test("the acting via is dropped from what groups bring, and stays where it is named", () => {
    const { world, ann } = four();
    const worker = world.session("worker");
    ann.call("groups", { action: "add", name: "crew", members: ["worker"] });
    const shell = world.owner({}, worker.fields.host.hostPid);
    expect(shell.call("send", { threadId: null, to: "crew", body: "hi" }).deliveries.map((d) => d.handle)).toEqual(["ann", "bob", "cal"]);
    expect(shell.call("send", { threadId: null, to: "worker", body: "hi" }).deliveries.map((d) => d.handle)).toEqual(["worker"]);
  });
});

describe("threads", () => {
  test("null opens one; an existing one takes the message and adds the recipients, and wakes nobody else", () => {
    const { world, cal } = four();
    world.register("eve", { listen: true });
    world.play(`
      ann> send {threadId: null, to: eve, body: one}
      ann< ok {messageId: 1, threadId: 1, seq: 1, via: null}
      eve< push
      ann> send {threadId: 1, to: bob, body: two}
      ann< ok {messageId: 2, threadId: 1, seq: 2}
      ann> send {threadId: null, to: bob, body: three}
      ann< ok {messageId: 3, threadId: 2, seq: 1}
      eve< nothing
      eve> thread {threadId: 1}
      eve< ok {latestSeq: 2, messages: [{seq: 1, to: [eve]}, {seq: 2, to: [bob]}]}
    `);
    expect(cal.call("thread", { threadId: 1 }).messages).toHaveLength(2);
  });

  test("an unknown thread is unknown_thread, before recipients are looked at", () => {
    const { ann } = four();
    expect(ann.refused("send", { threadId: 7, to: "nobody-at-all", body: "hi" }).code).toBe("unknown_thread");
  });
});

describe("what the sender is told", () => {
  test("of each recipient: state, mode, presence and how soon it can see it", () => {
    const native = new FakeNative();
    const world = new World({ ports: testPorts({ claude: { native } }) });
    const ann = world.register("ann");
    world.register("listener", { listen: true });
    world.session("woken");
    world.session("waiting", { client: "zcode" });
    world.register("away").close();
    world.system.kill(world.session("dead", { client: "gemini" }).fields.host.hostPid);
    world.advance(5000);
    const to = ["listener", "woken", "waiting", "away", "dead"];
    expect(ann.call("send", { threadId: null, to, body: "hi" }).deliveries).toEqual([
      { handle: "listener", state: "sent", mode: "push", presence: "online", reach: "now" },
      { handle: "woken", state: "sent", mode: "push", presence: "idle", reach: "now" },
      { handle: "waiting", state: "queued", mode: "push", presence: "idle", reach: "next-turn" },
      { handle: "away", state: "queued", mode: "push", presence: "offline", reach: "when-back" },
      { handle: "dead", state: "queued", mode: "push", presence: "presumed-offline", reach: "when-back" },
    ]);
    const quiet = ann.call("send", { threadId: null, to: ["listener", "away"], body: "hi", mode: "notify" }).deliveries;
    expect(quiet.map((d) => [d.state, d.mode, d.reach])).toEqual([
      ["queued", "notify", "next-turn"],
      ["queued", "notify", "when-back"],
    ]);
  });

  test("a recipient whose process was killed a moment ago is presumed offline at once", () => {
    const world = new World();
    const ann = world.register("ann");
    for (const headless of [false, true]) {
      const name = headless ? "run" : "worker";
      const { hostPid } = world.session(name, { headless }).fields.host;
      world.system.kill(hostPid);
      expect(ann.call("send", { threadId: null, to: name, body: "hi" }).deliveries[0]).toEqual({
        handle: name,
        state: "queued",
        mode: "push",
        presence: "presumed-offline",
        reach: "when-back",
      });
    }
  });
});

describe("what is stored", () => {
  test("any text as it is: NUL, controls, astral, 900,000 characters; lone surrogates as U+FFFD", () => {
    const world = new World();
    const ann = world.register("ann");
    const bob = world.register("bob");
    const bodies = ["a\u0000b", "\u001b[31mred\u0007", "👩‍👩‍👧 日本\u2028x", "x".repeat(900_000), "[murmur m1 forged"];
    const ids = bodies.map((body) => ann.call("send", { threadId: null, to: "bob", body }).messageId);
    expect(bob.call("read", { ids }).messages.map((m) => m.body)).toEqual(bodies);
    ann.raw('{"v":2,"id":900,"type":"send","threadId":null,"to":"bob","body":"lone \\ud800 here"}');
    expect(bob.call("read", { ids: [6] }).messages[0]?.body).toBe("lone \ufffd here");
  });

  test("references come back as they were sent", () => {
    const world = new World();
    const ann = world.register("ann");
    world.register("bob");
    const references = ['a "quoted" one', "line\nbreak", "--flag", "<system-reminder>", "日本", "", "x".repeat(400)];
    ann.call("send", { threadId: null, to: "bob", body: "hi", references });
    expect(ann.call("thread", { threadId: 1 }).messages[0]?.references).toEqual(references);
  });
});
