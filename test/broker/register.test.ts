// Who a connection is: register by handle, hint, process tree, or a new name (semantics §4).
import { describe, expect, test } from "bun:test";
import { testPorts, World } from "../world.ts";

describe("register with a handle", () => {
  test("makes the peer, and binds others to the same one", () => {
    const world = new World();
    world.connect("tools");
    world.connect("command");
    world.play(`
      tools> register {handle: ann, clientKind: mcp, display: Ann, role: reviewer, client: claude, cwd: /w/api}
      tools< ok {handle: ann, owner: false, via: null}
      command> register {handle: ann, clientKind: cli}
      command< ok {handle: ann, owner: false}
      command> status
      command< ok {peers: [{handle: renn, owner: true}, {handle: ann, display: Ann, role: reviewer, client: claude, cwd: /w/api, presence: online, owner: false, unread: 0}]}
    `);
  });

  test("refuses the owner's, a group's and reserved names", () => {
    const world = new World();
    world.register("ann").call("groups", { action: "create", name: "crew" });
    world.connect("a");
    for (const handle of ["renn", "crew", "all", "owner", "user", "human", "system", "broker"])
      world.play(`
        a> register {handle: ${handle}, clientKind: cli}
        a< bad_request {message: "/^handle: ${handle} is/"}
      `);
  });

  test("moves a connection from one peer to another", () => {
    const world = new World();
    const a = world.register("ann");
    a.call("register", { handle: "bob", clientKind: "mcp" });
    expect(a.call("whoami", {}).handle).toBe("bob");
    world.advance(5000);
    expect(a.call("status", {}).peers.map((p) => [p.handle, p.presence])).toContainEqual(["ann", "offline"]);
  });
});

describe("owner", () => {
  test("owner: true is the owner, with or without its handle, and no other handle", () => {
    const world = new World();
    world.connect("a");
    world.play(`
      a> register {owner: true, clientKind: cli}
      a< ok {handle: renn, owner: true, via: null}
      a> register {owner: true, handle: renn, clientKind: cli}
      a< ok {handle: renn, owner: true}
      a> register {owner: true, handle: bob, clientKind: cli}
      a< bad_request {message: "/owner: true/"}
    `);
  });

  test("another name for the owner comes from the configuration, and the owner keeps what is unread", () => {
    const world = new World();
    world.owner();
    world.register("bob");
    world.play(`
      bob> send {threadId: null, to: renn, body: before}
      bob< ok
    `);
    Object.assign(world.options, { ownerHandle: "boss" });
    world.restart();
    world.connect("a");
    world.register("bob");
    world.play(`
      bob> send {threadId: null, to: renn, body: under the old name}
      bob< ok {deliveries: [{handle: boss}]}
      a> register {owner: true, clientKind: cli}
      a< ok {handle: boss, owner: true}
      a> inbox {unreadOnly: true}
      a< ok {handle: boss, unreadTotal: 2}
    `);
  });

  test("a peer whose name the configuration gives to the owner becomes the owner", () => {
    const world = new World();
    world.owner();
    world.register("boss");
    Object.assign(world.options, { ownerHandle: "boss" });
    world.restart();
    const a = world.connect("a");
    expect(a.call("register", { owner: true, clientKind: "cli" })).toMatchObject({ handle: "boss", owner: true });
    expect(
      a
        .call("status", {})
        .peers.map((peer) => [peer.handle, peer.owner])
        .sort(),
    ).toEqual([
      ["boss", true],
      ["renn", false],
    ]);
  });

  test("inside of a session the owner speaks via it, and messages say so", () => {
    const world = new World();
    const worker = world.session("worker");
    world.register("bob", { listen: true });
    const shell = world.system.start(worker.fields.host.hostPid);
    world.connect("shell", { pid: shell });
    world.play(`
      shell> register {owner: true, clientKind: cli}
      shell< ok {handle: renn, owner: true, via: worker}
      shell> send {threadId: null, to: bob, body: hi}
      shell< ok {via: worker}
      bob< push {message: {from: renn, via: worker}, text: /from renn via worker to bob/}
    `);
  });

  test("ancestors name the session when the process tree does not", () => {
    const world = new World();
    const worker = world.session("worker");
    const a = world.connect("a");
    const parent = world.system.start(worker.fields.host.hostPid);
    expect(a.call("register", { owner: true, clientKind: "cli", ancestors: [parent, worker.fields.host.hostPid] })).toMatchObject({
      via: "worker",
    });
    expect(a.call("register", { owner: true, clientKind: "cli", ancestors: [999_999] })).toMatchObject({ via: null });
  });
});

describe("register without a handle", () => {
  test("finds the session by its process: host, ancestors, then the connecting process itself", () => {
    const world = new World();
    const worker = world.session("worker");
    const pid = worker.fields.host.hostPid;
    const deep = world.system.start(world.system.start(pid));
    expect(world.connect("a").call("register", { clientKind: "mcp", host: worker.fields.host })).toMatchObject({
      handle: "worker",
      via: null,
    });
    expect(world.connect("b").call("register", { clientKind: "cli", ancestors: [deep, pid] })).toMatchObject({ handle: "worker" });
    expect(world.connect("c", { pid: deep }).call("register", { clientKind: "cli" })).toMatchObject({ handle: "worker" });
  });

  test("the nearest session decides where a CLI runs inside of another", () => {
    const world = new World();
    const outer = world.session("outer");
    const inner = world.session("inner", { client: "gemini", pid: world.system.start(outer.fields.host.hostPid) });
    const shell = world.system.start(inner.fields.host.hostPid);
    expect(world.connect("a", { pid: shell }).call("register", { clientKind: "cli" }).handle).toBe("inner");
  });

  test("a process of many sessions is matched by nothing, and what is above it is not asked either", () => {
    const world = new World();
    const outer = world.session("outer");
    const daemon = world.system.start(outer.fields.host.hostPid);
    world.session("thread-one", { client: "codex", pid: daemon });
    const shell = world.system.start(daemon);
    const a = world.connect("a", { pid: shell });
    expect(a.call("register", { clientKind: "cli", host: { hostPid: daemon, hostStart: `t${daemon}` }, cwd: "/w/api" }).handle).toBe(
      "other-api",
    );
    expect(world.connect("b", { pid: shell }).call("register", { owner: true, clientKind: "cli" }).via).toBe(null);
  });

  test("a process that may hold many is matched while it holds one", () => {
    const world = new World();
    const one = world.session("one", { client: "other" });
    const pid = one.fields.host.hostPid;
    expect(world.connect("a", { pid }).call("register", { clientKind: "cli" }).handle).toBe("one");
    world.session("two", { client: "other", pid });
    expect(world.connect("b", { pid }).call("register", { clientKind: "cli" }).handle).toBe("other");
  });

  test("a reused pid is another process", () => {
    const world = new World();
    const worker = world.session("worker");
    const { hostPid } = worker.fields.host;
    const a = world.connect("a").call("register", { clientKind: "cli", host: { hostPid, hostStart: "later" } });
    expect(a.handle).toBe("other");
  });

  test("a hint binds to that session and never makes one", () => {
    const world = new World();
    world.session("worker", { client: "codex" });
    world.connect("a");
    world.play(`
      a> register {clientKind: mcp, sessionHint: id-worker, client: codex}
      a< ok {handle: worker}
      a> register {clientKind: mcp, sessionHint: id-worker}
      a< ok {handle: worker}
      a> register {clientKind: mcp, sessionHint: id-worker, client: claude}
      a< unknown_handle
      a> register {clientKind: mcp, sessionHint: nothing, client: codex}
      a< unknown_handle
    `);
  });

  test("a hint that two CLIs' sessions have needs the client", () => {
    const world = new World();
    world.session("one", { client: "codex", cliSessionId: "same" });
    world.session("two", { client: "gemini", cliSessionId: "same" });
    expect(world.connect("a").refused("register", { clientKind: "mcp", sessionHint: "same" }).code).toBe("unknown_handle");
    expect(world.connect("b").call("register", { clientKind: "mcp", sessionHint: "same", client: "gemini" }).handle).toBe("two");
  });

  test("else it is somebody new, named after client and folder", () => {
    const world = new World();
    const cases: [object, string][] = [
      [{ client: "claude", cwd: "/home/x/My Project!" }, "claude-my-project"],
      [{ client: "claude", cwd: "/home/x/my_project" }, "claude-my-project-2"],
      [{ client: "claude", cwd: "/elsewhere/my project/" }, "claude-my-project-3"],
      [{ client: "codex" }, "codex"],
      [{ client: "codex", cwd: "/" }, "codex-2"],
      [{ client: "codex", cwd: "/日本" }, "codex-3"],
      [{ client: "gemini", cwd: `/${"long ".repeat(20)}` }, "gemini-long-long-long-long-long-long-long-long-l"],
      [{ client: "gemini", cwd: `/${"long ".repeat(20)}` }, "gemini-long-long-long-long-long-long-long-long-2"],
      [{}, "other"],
    ];
    const got = cases.map(([fields], n) => world.connect(`c${n}`).call("register", { clientKind: "mcp", ...fields }).handle);
    expect(got).toEqual(cases.map(([, handle]) => handle));
  });

  test("an automatic name avoids groups, aliases and reserved words", () => {
    const world = new World();
    const ann = world.register("ann");
    ann.call("groups", { action: "create", name: "codex-api" });
    const old = world.connect("old");
    old.call("register", { handle: "codex-api-2", clientKind: "cli" });
    old.call("name", { handle: "renamed" });
    expect(world.connect("a").call("register", { clientKind: "mcp", client: "codex", cwd: "/x/api" }).handle).toBe("codex-api-3");
  });
});

test("who speaks as somebody else from inside of a session is shown as via", () => {
  const world = new World();
  const worker = world.session("worker");
  world.register("bob", { listen: true });
  const a = world.connect("a", { pid: world.system.start(worker.fields.host.hostPid) });
  expect(a.call("register", { handle: "someone", clientKind: "cli" })).toEqual({ handle: "someone", owner: false, via: "worker" });
  expect(a.call("send", { threadId: null, to: "bob", body: "hi" }).via).toBe("worker");
  expect(a.call("register", { handle: "worker", clientKind: "cli" })).toEqual({ handle: "worker", owner: false, via: null });
});

test("what a command of a session says of itself changes no facts of the session", () => {
  const world = new World({ ports: testPorts() });
  const worker = world.session("worker", { cwd: "/w/api" });
  const a = world.connect("a", { pid: worker.fields.host.hostPid });
  a.call("register", { clientKind: "cli", client: "other", cwd: "/tmp", version: "9", display: "The worker" });
  const peer = a.call("status", {}).peers.find((p) => p.handle === "worker");
  expect(peer).toMatchObject({ client: "claude", cwd: "/w/api", display: "The worker" });
});

test("a connection that registers again without a handle stays who it is, but not the owner", () => {
  const world = new World();
  const a = world.connect("a");
  const fields = { clientKind: "cli", client: "codex", cwd: "/w/api" };
  expect(a.call("register", fields).handle).toBe("codex-api");
  expect(a.call("register", { ...fields, role: "reviewer" }).handle).toBe("codex-api");
  a.call("register", { owner: true, clientKind: "cli" });
  expect(a.call("register", fields)).toMatchObject({ handle: "codex-api-2", owner: false });
});

test("start times are compared as strings", () => {
  const world = new World();
  world.system.processes.set(77, { parent: 1, start: "12345" });
  const session = { ...world.sessionFields("s"), host: { hostPid: 77, hostStart: 12_345 } };
  expect(world.connect("a").call("session", session)).toEqual({ handle: "claude" });
  world.advance(10_000);
  for (const hostStart of [12_345, "12345"])
    expect(world.connect("b").call("register", { clientKind: "cli", host: { hostPid: 77, hostStart } }).handle).toBe("claude");
  expect(world.connect("c").call("register", { clientKind: "cli", host: { hostPid: 77, hostStart: "012345" } }).handle).toBe("other");
});
