// Groups, and who may be forgotten (semantics §4, §9).
import { describe, expect, test } from "bun:test";
import { World } from "../world.ts";

describe("groups", () => {
  test("are made, listed, changed and deleted; each action answers the records it concerns", () => {
    const world = new World();
    for (const name of ["ann", "bob", "cal"]) world.register(name);
    const at = world.system.wall;
    world.play(`
      ann> groups {action: create, name: crew, members: [bob, bob]}
      ann< ok [{name: crew, members: [bob], createdAt: ${at}, createdBy: ann}]
      bob> groups {action: create, name: alpha}
      bob< ok [{name: alpha, members: [], createdBy: bob}]
      ann> groups {action: list}
      ann< ok [{name: crew}, {name: alpha}]
      ann> groups {action: list, name: alpha}
      ann< ok [{name: alpha}]
      cal> groups {action: add, name: crew, members: [cal, bob, ann]}
      cal< ok [{name: crew, members: [bob, cal, ann]}]
      cal> groups {action: add, name: crew, members: [cal]}
      cal< ok [{members: [bob, cal, ann]}]
      cal> groups {action: remove, name: crew, members: [bob, nobody]}
      cal< ok [{members: [cal, ann]}]
      cal> groups {action: remove, name: crew, members: [bob]}
      cal< ok [{members: [cal, ann]}]
      cal> groups {action: delete, name: crew}
      cal< ok [{name: crew, members: [cal, ann]}]
      cal> groups {action: delete, name: crew}
      cal< unknown_group
      cal> groups {action: list, name: crew}
      cal< unknown_group
      cal> groups {action: add, name: crew, members: [ann]}
      cal< unknown_group
    `);
    world.restart();
    expect(world.register("ann").call("groups", { action: "list" })).toMatchObject([{ name: "alpha", createdBy: "bob" }]);
  });

  test("names and members that cannot be are refused, and nothing is stored", () => {
    const world = new World();
    const ann = world.register("ann");
    world.register("old").call("name", { handle: "new" });
    ann.call("groups", { action: "create", name: "crew" });
    const refusals: [object, string][] = [
      [{ action: "create", name: "crew" }, "bad_request"],
      [{ action: "create", name: "ann" }, "bad_request"],
      [{ action: "create", name: "old" }, "bad_request"],
      [{ action: "create", name: "all" }, "bad_request"],
      [{ action: "create", name: "renn" }, "bad_request"],
      [{ action: "create" }, "bad_request"],
      [{ action: "add", name: "crew" }, "bad_request"],
      [{ action: "add", name: "crew", members: [] }, "bad_request"],
      [{ action: "add", name: "crew", members: ["crew"] }, "bad_request"],
      [{ action: "add", name: "crew", members: ["ann", "nobody"] }, "unknown_handle"],
      [{ action: "create", name: "other", members: ["nobody"] }, "unknown_handle"],
    ];
    for (const [fields, code] of refusals) expect(ann.refused("groups", fields).code).toBe(code);
    expect(ann.call("groups", { action: "list" })).toMatchObject([{ name: "crew", members: [] }]);
  });

  test("hold two hundred members and no more, over several requests too", () => {
    const world = new World();
    const ann = world.register("ann");
    const names = Array.from({ length: 201 }, (_, n) => `peer-${n}`);
    for (const name of names) world.connect(name).call("register", { handle: name, clientKind: "cli" });
    ann.call("groups", { action: "create", name: "crew", members: names.slice(0, 200) });
    expect(ann.refused("groups", { action: "add", name: "crew", members: names.slice(200) })).toMatchObject({ code: "bad_request" });
    expect(ann.call("groups", { action: "add", name: "crew", members: names.slice(0, 1) })[0]?.members).toHaveLength(200);
  });

  test("a handle comes before a group of the same name, since no two can be made", () => {
    const world = new World();
    const ann = world.register("ann");
    ann.call("groups", { action: "create", name: "crew", members: ["ann"] });
    expect(ann.refused("register", { handle: "crew", clientKind: "cli" }).code).toBe("bad_request");
    expect(ann.refused("name", { handle: "crew" }).code).toBe("bad_request");
  });
});

describe("prune", () => {
  test("removes peers that have nothing, and tells which", () => {
    const world = new World();
    const ann = world.register("ann");
    const empty = world.register("empty");
    for (const name of ["asked", "member", "ended", "sender"]) world.register(name).close();
    world.session("living");
    const ended = world.session("session-ended");
    ended.call("session", { ...ended.fields, event: "session-end" });
    world.connections.get("ended")?.close();
    ended.close();
    ann.call("send", { threadId: null, to: "asked", body: "hi" });
    ann.call("groups", { action: "create", name: "crew", members: ["member"] });
    const sender = world.register("sender");
    sender.call("send", { threadId: null, to: "ann", body: "hi" });
    sender.close();
    world.advance(10_000);
    expect(ann.call("prune", {}).removed.sort()).toEqual(["ended", "session-ended"]);
    empty.close();
    world.advance(10_000);
    expect(ann.call("prune", {})).toEqual({ removed: ["empty"] });
    expect(ann.call("prune", {})).toEqual({ removed: [] });
    expect(ann.refused("send", { threadId: null, to: "ended", body: "hi" }).code).toBe("unknown_handle");
    world.restart();
    const back = world.register("ann");
    expect(back.call("status", {}).peers.map((p) => p.handle)).toEqual(["renn", "ann", "asked", "member", "sender", "living"]);
    expect(back.refused("register", { clientKind: "mcp", sessionHint: "id-session-ended" }).code).toBe("unknown_handle");
  });

  test("headless runs with nothing go by themselves at their end", () => {
    const world = new World();
    const run = world.session("run", { headless: true });
    run.close();
    world.system.kill(run.fields.host.hostPid);
    world.advance(10_000);
    expect(
      world
        .connect("a")
        .call("status", {})
        .peers.map((p) => p.handle),
    ).toEqual(["renn"]);
  });

  test("ended sessions of peers that never spoke go after a day", () => {
    const world = new World();
    const worker = world.session("worker");
    worker.call("session", { ...worker.fields, event: "session-end" });
    world.advance(24 * 3_600_000);
    const a = world.connect("a");
    a.call("register", { clientKind: "mcp", sessionHint: "id-worker" });
    a.close();
    world.advance(10_000);
    expect(world.connect("b").refused("register", { clientKind: "mcp", sessionHint: "id-worker" }).code).toBe("unknown_handle");
  });
});
