// Notifications: gathered for a minute, merged, to a listener or into the next hook payload (semantics §7).
import { expect, test } from "bun:test";
import { World } from "../world.ts";

test("a minute after the first, all of it comes as one event; equal ones are one", () => {
  const world = new World();
  for (const name of ["ann", "bob", "cal"]) world.register(name, { listen: name === "cal" });
  world.play(`
    ann> send {threadId: null, to: [bob, cal], body: well}
    ann< ok
    cal< push
    bob> reply {messageId: 1, body: one}
    bob< ok
    +30s
    bob> reply {messageId: 1, body: two}
    bob< ok
    ann> reply {messageId: 1, body: three}
    ann< ok
    cal< push {message: {id: 4}}
    +29999ms
    cal< nothing
    +1ms
    cal< notification [{kind: reply_arrived, threadId: 1, fromHandle: bob}]
    +10min
    cal< nothing
  `);
});

test("who does not listen finds it in the next hook payload, once", () => {
  const world = new World();
  const ann = world.register("ann");
  world.register("bob");
  const worker = world.session("worker");
  ann.call("send", { threadId: null, to: ["worker", "bob"], body: "well?" });
  world.connections.get("bob")?.call("reply", { messageId: 1, body: "yes" });
  world.advance(600_000);
  expect(worker.call("hook", { event: "post-tool" }).notifications).toMatchObject([
    { kind: "reply_arrived", threadId: 1, fromHandle: "bob" },
  ]);
  expect(worker.call("hook", { event: "post-tool" }).notifications).toEqual([]);
});

test("who begins to listen after the minute gets what gathered", () => {
  const world = new World();
  const ann = world.register("ann");
  const [bob, cal] = [world.register("bob"), world.register("cal")];
  ann.call("send", { threadId: null, to: ["bob", "cal"], body: "well?" });
  bob.call("reply", { messageId: 1, body: "yes" });
  world.advance(120_000);
  cal.call("register", { handle: "cal", clientKind: "mcp", listen: true });
  world.advance(0);
  expect(cal.events("notification").map((e) => e.payload)).toMatchObject([[{ kind: "reply_arrived", fromHandle: "bob" }]]);
});

test("the sender hears when what waited for an offline peer has arrived, and not for one that was there", () => {
  const world = new World();
  const ann = world.register("ann", { listen: true });
  world.register("bob").close();
  world.register("cal", { listen: true });
  world.advance(5000);
  ann.call("send", { threadId: null, to: ["bob", "cal"], body: "hi" });
  world.connections.get("cal")?.call("delivered", { ids: [1] });
  const bob = world.register("bob", { listen: true });
  bob.call("delivered", { ids: [1] });
  world.advance(60_000);
  expect(ann.events("notification").map((e) => e.payload)).toEqual([
    [{ kind: "queued_delivered", threadId: 1, fromHandle: "bob", messageId: 1 }],
  ]);
});

test("whoever has an unanswered message to one that leaves is told, whether it was a session or a connection", () => {
  for (const session of [true, false]) {
    const world = new World();
    const ann = world.register("ann", { listen: true });
    const cal = world.register("cal", { listen: true });
    const bob = session ? world.session("bob") : world.register("bob");
    ann.call("send", { threadId: null, to: "bob", body: "well?" });
    cal.call("send", { threadId: null, to: "bob", body: "and?" });
    bob.call("reply", { messageId: 2, body: "yes" });
    cal.events();
    if (session) world.system.processes.clear();
    else bob.close();
    world.advance(70_000);
    expect(ann.events("notification").map((e) => e.payload)).toEqual([[{ kind: "peer_offline", threadId: 1, fromHandle: "bob" }]]);
    expect(cal.events("notification")).toEqual([]);
  }
});

test("news is lost at a restart, by decision, and starts no turn", () => {
  const world = new World();
  const ann = world.register("ann");
  world.register("bob");
  const worker = world.session("worker");
  ann.call("send", { threadId: null, to: ["worker", "bob"], body: "well?" });
  worker.call("hook", { event: "prompt" });
  world.connections.get("bob")?.call("reply", { messageId: 1, body: "yes" });
  expect(worker.call("hook", { event: "stop" })).toMatchObject({ block: false, notifications: [] });
  world.restart();
  const back = world.connect("w");
  back.call("register", { clientKind: "hook", sessionHint: "id-worker" });
  expect(back.call("hook", { event: "post-tool" }).notifications).toEqual([]);
});
