// Who counts as there, and how a session ends (semantics §4).
import { describe, expect, test } from "bun:test";
import { World } from "../world.ts";

const presenceOf = (world: World, handle: string) =>
  (world.connections.get("eye") ?? world.connect("eye")).call("status", {}).peers.find((p) => p.handle === handle)?.presence;

describe("presence", () => {
  test("busy from a prompt to the stop, idle after; a start of the running session does not end it", () => {
    const world = new World();
    const a = world.session("worker");
    const steps: [object, string][] = [
      [{ event: "prompt" }, "busy"],
      [{ event: "session-start", source: "compact" }, "busy"],
      [{ event: "stop" }, "idle"],
      [{ event: "session-start", source: "compact" }, "idle"],
      [{ event: "prompt" }, "busy"],
      [{ event: "session-end" }, "offline"],
      [{ event: "session-start", source: "resume" }, "idle"],
    ];
    for (const [fields, presence] of steps) {
      a.call("session", { ...a.fields, ...fields });
      expect(presenceOf(world, "worker")).toBe(presence as never);
    }
  });

  test("busy with no event for fifteen minutes shows as idle; an event in between renews it", () => {
    const world = new World();
    const a = world.session("worker");
    a.call("session", { ...a.fields, event: "prompt" });
    world.advance(14 * 60_000);
    a.call("hook", { event: "post-tool" });
    world.advance(15 * 60_000 - 1);
    expect(presenceOf(world, "worker")).toBe("busy");
    world.advance(1);
    expect(presenceOf(world, "worker")).toBe("idle");
  });

  test("a peer without session is online while it is connected and for five seconds after", () => {
    const world = new World();
    const one = world.register("ann");
    const two = world.connect("two");
    two.call("register", { handle: "ann", clientKind: "cli" });
    one.close();
    world.advance(60_000);
    expect(presenceOf(world, "ann")).toBe("online");
    two.close();
    world.advance(4999);
    expect(presenceOf(world, "ann")).toBe("online");
    world.advance(1);
    expect(presenceOf(world, "ann")).toBe("offline");
  });

  test("a host that is gone without an end is presumed offline within six seconds; one whose pid was reused too", () => {
    for (const reuse of [false, true]) {
      const world = new World();
      const { hostPid } = world.session("worker").fields.host;
      world.system.kill(hostPid);
      if (reuse) world.system.processes.set(hostPid, { parent: 1, start: "later" });
      world.advance(6000);
      expect(presenceOf(world, "worker")).toBe("presumed-offline");
    }
  });

  test("a child that outlives its CLI makes nobody online", () => {
    const world = new World();
    const worker = world.session("worker");
    const tools = world.connect("tools", { pid: world.system.start(worker.fields.host.hostPid) });
    tools.call("register", { clientKind: "mcp" });
    world.system.kill(worker.fields.host.hostPid);
    world.advance(6000);
    tools.call("inbox", { unreadOnly: true });
    expect(presenceOf(world, "worker")).toBe("presumed-offline");
  });

  test("at a start the hosts are looked at: the living live on, the dead and those of another boot do not", () => {
    const world = new World();
    world.session("alive");
    world.system.kill(world.session("dead").fields.host.hostPid);
    world.restart();
    expect([presenceOf(world, "alive"), presenceOf(world, "dead")]).toEqual(["idle", "presumed-offline"]);
    world.system.boot = "boot-2";
    world.restart();
    expect(presenceOf(world, "alive")).toBe("presumed-offline");
  });

  test("the owner is always there", () => {
    expect(presenceOf(new World(), "renn")).toBe("online");
  });
});

describe("session-end", () => {
  test("of a process that is not the current one is ignored, the second and the third are no error", () => {
    const world = new World();
    const a = world.session("worker");
    const stranger = { ...a.fields, event: "session-end", host: world.sessionFields("x").host };
    expect(world.connect("b").call("session", stranger)).toEqual({ handle: "worker" });
    expect(presenceOf(world, "worker")).toBe("idle");
    for (const wait of [0, 0, 10_000]) {
      expect(a.call("session", { ...a.fields, event: "session-end" })).toEqual({ handle: "worker" });
      world.advance(wait);
      expect(presenceOf(world, "worker")).toBe("offline");
    }
  });

  test("of a session that nobody knows is refused and makes nobody", () => {
    const world = new World();
    const a = world.connect("a");
    expect(a.refused("session", world.sessionFields("never", { event: "session-end" })).code).toBe("unknown_handle");
    expect(a.call("status", {}).peers).toHaveLength(1);
  });

  test("takes effect for notifications after three seconds, and not at all when the session comes back before", () => {
    const world = new World();
    const ann = world.register("ann", { listen: true });
    const worker = world.session("worker");
    ann.call("send", { threadId: null, to: "worker", body: "well?" });
    worker.call("session", { ...worker.fields, event: "session-end" });
    world.advance(2999);
    worker.call("session", { ...worker.fields, source: "resume" });
    world.advance(120_000);
    expect(ann.events("notification")).toEqual([]);
    worker.call("session", { ...worker.fields, event: "session-end" });
    world.advance(3000 + 60_000);
    expect(ann.events("notification").map((e) => e.payload)).toEqual([[{ kind: "peer_offline", threadId: 1, fromHandle: "worker" }]]);
  });
});
