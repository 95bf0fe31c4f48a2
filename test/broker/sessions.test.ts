// What the conversations of CLIs do, and which handle each has (semantics §4).
import { describe, expect, test } from "bun:test";
import { World } from "../world.ts";

const presenceOf = (world: World, handle: string) =>
  (world.connections.get("eye") ?? world.connect("eye")).call("status", {}).peers.find((p) => p.handle === handle)?.presence;

describe("which handle a session has", () => {
  test("it is named after client and folder, and keeps that over events, restarts and resumes", () => {
    const world = new World();
    const fields = world.sessionFields("s", { cwd: "/w/api" });
    expect(world.connect("a").call("session", fields)).toEqual({ handle: "claude-api" });
    expect(world.connect("b").call("session", { ...fields, event: "prompt" })).toEqual({ handle: "claude-api" });
    expect(world.connect("c").call("session", { ...fields, event: "session-end" })).toEqual({ handle: "claude-api" });
    world.advance(10_000);
    const resumed = { ...fields, source: "resume", host: world.sessionFields("other").host };
    expect(world.connect("d").call("session", resumed)).toEqual({ handle: "claude-api" });
    world.restart();
    expect(world.connect("e").call("session", { ...resumed, event: "prompt" })).toEqual({ handle: "claude-api" });
  });

  test("clear keeps the handle with its queue, whichever of the two processes comes first", () => {
    for (const endFirst of [true, false]) {
      const world = new World();
      const ann = world.register("ann");
      const old = world.session("worker");
      ann.call("send", { threadId: null, to: "worker", body: "before" });
      const next = { ...old.fields, cliSessionId: "after-clear", source: "clear", handle: undefined };
      const end = () => world.connect("end").call("session", { ...old.fields, event: "session-end", handle: undefined });
      if (endFirst) end();
      const after = world.connect("after");
      expect(after.call("session", next)).toEqual({ handle: "worker" });
      if (!endFirst) end();
      world.advance(10_000);
      expect(presenceOf(world, "worker")).toBe("idle");
      expect(after.call("hook", { event: "prompt" }).texts).toEqual([expect.stringContaining("before")]);
      expect(ann.events()).toEqual([]);
    }
  });

  test("a clear keeps it also when its two processes are slow", () => {
    const world = new World();
    const old = world.session("worker");
    world.connect("end").call("session", { ...old.fields, event: "session-end", handle: undefined });
    world.advance(60_000);
    const next = { ...old.fields, cliSessionId: "after-clear", source: "clear", handle: undefined };
    expect(world.connect("after").call("session", next)).toEqual({ handle: "worker" });
  });

  test("a session's own children find it by the name that it had", () => {
    const world = new World();
    const fields = world.sessionFields("s", { cwd: "/w/api" });
    world.connect("hook").call("session", fields);
    world.connect("hook2").call("session", { ...fields, event: "prompt", title: "Fancy" });
    const child = world.connect("child", { pid: fields.host.hostPid });
    expect(child.call("register", { handle: "claude-api", clientKind: "mcp" })).toMatchObject({ handle: "fancy" });
    expect(world.connect("else").call("register", { handle: "claude-api", clientKind: "mcp" })).toMatchObject({ handle: "claude-api" });
  });

  test("a source that is not told counts as clear", () => {
    const world = new World();
    const old = world.session("worker");
    const { source: _, handle: __, ...rest } = old.fields;
    expect(world.connect("a").call("session", { ...rest, cliSessionId: "new" })).toEqual({ handle: "worker" });
  });

  test("a fork, a start and a resume of a conversation that nobody knows are somebody new", () => {
    for (const source of ["fork", "startup", "resume"]) {
      const world = new World();
      const old = world.session("worker", { cwd: "/w/api" });
      const { handle: _, ...rest } = old.fields;
      expect(world.connect("a").call("session", { ...rest, cliSessionId: "new", source })).toEqual({ handle: "claude-api" });
    }
  });

  test("a process of many conversations keeps them apart", () => {
    const world = new World();
    const pid = world.system.start();
    const names = ["one", "two", "three"].map((name) => {
      const fields = world.sessionFields(name, { client: "codex", pid, cwd: "/w/api", source: "clear" });
      return world.connect(name).call("session", fields).handle;
    });
    expect(names).toEqual(["codex-api", "codex-api-2", "codex-api-3"]);
    expect(names.map((name) => presenceOf(world, name))).toEqual(["idle", "idle", "idle"]);
  });

  test("on a host of one conversation the new one ends the other", () => {
    const world = new World();
    const old = world.session("worker");
    const { handle: _, ...rest } = old.fields;
    const next = world.connect("a").call("session", { ...rest, cliSessionId: "new", source: "fork" });
    expect([presenceOf(world, "worker"), presenceOf(world, next.handle)]).toEqual(["offline", "idle"]);
  });

  test("a conversation that is resumed while somebody else has its handle is somebody new", () => {
    const world = new World();
    const old = world.session("worker");
    world.connect("end").call("session", { ...old.fields, event: "session-end", handle: undefined });
    world.advance(5000);
    world.session("worker", { cliSessionId: "second" });
    const { handle: _, ...rest } = old.fields;
    const back = world.connect("back").call("session", { ...rest, source: "resume", host: world.sessionFields("x").host });
    expect(back.handle).toBe("claude");
  });
});

describe("a chosen handle", () => {
  test("is refused where a live session, the owner, a group or the bus has it", () => {
    const world = new World();
    world.session("taken");
    world.register("ann").call("groups", { action: "create", name: "crew" });
    const a = world.connect("a");
    for (const handle of ["taken", "renn", "crew", "all", "broker"]) {
      const error = a.refused("session", world.sessionFields("new", { handle }));
      expect([error.code, error.message]).toEqual(["bad_request", expect.stringMatching(/^handle: .* cannot be chosen/)]);
    }
    expect(a.call("status", {}).peers.map((p) => p.handle)).toEqual(["renn", "taken", "ann"]);
  });

  test("of a peer that has no live session is that peer, with its queue", () => {
    const world = new World();
    world.register("worker").close();
    world.register("ann").call("send", { threadId: null, to: "worker", body: "for you" });
    const worker = world.session("worker");
    expect(worker.call("hook", { event: "prompt" }).texts).toHaveLength(1);
  });

  test("given later renames the session and pins it against titles", () => {
    const world = new World();
    const fields = world.sessionFields("s", { cwd: "/w/api" });
    const a = world.connect("a");
    a.call("session", fields);
    expect(a.call("session", { ...fields, event: "prompt", handle: "chosen" })).toEqual({ handle: "chosen" });
    expect(a.call("whoami", {})).toMatchObject({ handle: "chosen", pinned: true });
    expect(a.call("session", { ...fields, event: "prompt", title: "Other Name" })).toEqual({ handle: "chosen" });
    expect(a.call("whoami", {}).display).toBe("Other Name");
    world.restart();
    const b = world.connect("b");
    expect(b.call("session", { ...fields, event: "prompt", title: "Third Name" })).toEqual({ handle: "chosen" });
  });
});

describe("titles", () => {
  const cases: [string, string][] = [
    ["Fix the API", "fix-the-api"],
    ["  --Ünïcode!! 日本 x9--  ", "n-code-x9"],
    ["x".repeat(60), "x".repeat(48)],
    [`${"y".repeat(47)} tail`, "y".repeat(47)],
    ["[murmur m1 evil]", "murmur-m1-evil"],
  ];
  for (const [title, handle] of cases)
    test(`${JSON.stringify(title)} gives ${handle}`, () => {
      const world = new World();
      const fields = world.sessionFields("s", { cwd: "/w/api" });
      const a = world.connect("a");
      a.call("session", fields);
      expect(a.call("session", { ...fields, event: "prompt", title }).handle).toBe(handle);
      expect(a.call("whoami", {}).display).toBe(title);
    });

  test("a slug that is no handle, is taken, or is an alias of somebody else changes the display only", () => {
    const world = new World();
    world.register("ann").call("groups", { action: "create", name: "crew" });
    const moved = world.register("first");
    moved.call("name", { handle: "second" });
    const fields = world.sessionFields("s", { cwd: "/w/api" });
    const a = world.connect("a");
    a.call("session", fields);
    for (const title of ["日本", "x", "Ann", "Crew", "Renn", "System", "First", "All"]) {
      expect(a.call("session", { ...fields, event: "prompt", title }).handle).toBe("claude-api");
      expect(a.call("whoami", {}).display).toBe(title);
    }
  });

  test("the same title again changes nothing, also when its name has become free", () => {
    const world = new World();
    const ann = world.register("ann");
    const fields = world.sessionFields("s", { cwd: "/w/api" });
    const a = world.connect("a");
    a.call("session", { ...fields, title: "Ann" });
    ann.call("name", { handle: "bob" });
    world.advance(25 * 3_600_000);
    expect(a.call("session", { ...fields, event: "prompt", title: "Ann" }).handle).toBe("claude-api");
  });

  test("a rename moves everything, and for a day the old name reaches it", () => {
    const world = new World();
    const ann = world.register("ann");
    const fields = world.sessionFields("s", { cwd: "/w/api", listen: true });
    const a = world.connect("a");
    a.call("session", fields);
    ann.call("groups", { action: "create", name: "crew", members: ["claude-api"] });
    ann.call("send", { threadId: null, to: "claude-api", body: "one" });
    a.call("session", { ...fields, event: "prompt", title: "API work" });
    world.connect("tools").call("register", { handle: "claude-api-9", clientKind: "mcp" });
    expect(ann.call("send", { threadId: null, to: "claude-api", body: "two" }).deliveries[0]?.handle).toBe("api-work");
    expect(ann.call("thread", { threadId: 1 }).messages[0]?.to).toEqual(["api-work"]);
    expect(ann.call("groups", { action: "list" })[0]?.members).toEqual(["api-work"]);
    expect(a.pushed()).toEqual([1, 2]);
    expect(a.call("fetch-push", { handle: "claude-api", limit: 5 }).messages).toEqual([]);
    world.restart();
    const again = world.register("ann");
    expect(again.call("send", { threadId: null, to: "claude-api", body: "three" }).deliveries[0]?.handle).toBe("api-work");
    world.advance(24 * 3_600_000);
    expect(again.refused("send", { threadId: null, to: "claude-api", body: "four" })).toMatchObject({
      code: "unknown_handle",
      handle: "claude-api",
    });
  });

  test("waits and the alias follow a rename; an explicit choice of the old name ends the alias", () => {
    const world = new World();
    const ann = world.register("ann");
    const fields = world.sessionFields("s", { cwd: "/w/api" });
    const a = world.connect("a");
    a.call("session", fields);
    ann.call("send", { threadId: null, to: "claude-api", body: "one" });
    const wait = ann.request("wait", { threadId: 1, until: "all_replied" });
    a.call("session", { ...fields, event: "prompt", title: "API work" });
    a.call("reply", { messageId: 1, body: "done" });
    expect(ann.answer(wait)).toMatchObject({ ok: true, result: { conditionMet: true, matrix: [{ handle: "api-work" }] } });
    world.register("claude-api");
    expect(ann.call("send", { threadId: null, to: "claude-api", body: "two" }).deliveries[0]?.handle).toBe("claude-api");
  });

  test("going back to the old title goes back to the old handle", () => {
    const world = new World();
    const fields = world.sessionFields("s");
    const a = world.connect("a");
    const handles = ["First name", "Second name", "First name"].map(
      (title) => a.call("session", { ...fields, event: "prompt", title }).handle,
    );
    expect(handles).toEqual(["first-name", "second-name", "first-name"]);
    expect(a.call("groups", { action: "create", name: "crew", members: ["second-name"] })[0]?.members).toEqual(["first-name"]);
  });
});

test("a connection that leaves one session for another gives back what it took for the first", () => {
  const world = new World();
  const ann = world.register("ann");
  const a = world.session("one", { client: "opencode", listen: true });
  ann.call("send", { threadId: null, to: "one", body: "hi" });
  expect(a.pushed()).toEqual([1]);
  a.call("session", world.sessionFields("two", { client: "opencode", handle: "two" }));
  expect(ann.call("collect", { threadId: 1 }).recipients[0]?.state).toBe("queued");
  ann.call("send", { threadId: null, to: "two", body: "hi two" });
  expect(a.pushed()).toEqual([2]);
});

test("a running conversation that reports from another process has moved there", () => {
  const world = new World();
  const a = world.session("worker");
  const moved = { ...a.fields, event: "prompt", host: world.sessionFields("x").host };
  expect(world.connect("b").call("session", moved)).toEqual({ handle: "worker" });
  world.system.kill(a.fields.host.hostPid);
  world.advance(10_000);
  expect(world.connect("c").call("register", { clientKind: "cli", host: moved.host }).handle).toBe("worker");
  expect(world.connect("d").call("register", { clientKind: "cli", host: a.fields.host }).handle).toBe("other");
});
