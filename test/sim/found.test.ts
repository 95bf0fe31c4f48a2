// What simulation and fuzzing found, as the shortest conversations that show it.
import { afterEach, expect, test } from "bun:test";
import { World } from "../world.ts";

let world: World;
afterEach(() => world.end());

const stateOf = (handle: string, messageId: number) =>
  world.connections
    .get("asker")
    ?.call("why", { messageId })
    .deliveries.find((d) => d.handle === handle)?.state;

test("a session that hangs in its turn keeps no mail for ever", () => {
  world = new World();
  const asker = world.register("asker");
  const worker = world.session("worker", { client: "zcode" });
  worker.call("session", { ...worker.fields, event: "prompt" });
  const { messageId } = asker.call("send", { threadId: null, to: ["worker"], body: "hello" });
  expect(worker.call("hook", { event: "post-tool" }).texts).toHaveLength(1);
  world.advance(14 * 60_000);
  expect(stateOf("worker", messageId)).toBe("sent");
  world.advance(4 * 60_000);
  expect(stateOf("worker", messageId)).toBe("queued");
});

test("what a session that died had taken goes to a listener that is no part of it", () => {
  world = new World();
  const asker = world.register("asker");
  const worker = world.session("worker", { client: "claude", transcriptPath: "/t" });
  const { messageId } = asker.call("send", { threadId: null, to: ["worker"], body: "hello" });
  expect(worker.call("hook", { event: "prompt" }).texts).toHaveLength(1);
  const listener = world.register("worker", { listen: true });
  expect(listener.pushed()).toEqual([]);
  world.system.kill(worker.fields.host.hostPid);
  world.advance(6_000);
  expect(listener.pushed()).toEqual([messageId]);
});

test("a session that took another peer's place is that one after a restart too", () => {
  world = new World();
  world.register("old-hand").close();
  const asker = world.register("asker");
  asker.call("send", { threadId: null, to: ["old-hand"], body: "hello" });
  const worker = world.session("worker", { client: "claude" });
  worker.call("name", { handle: "old-hand" });
  world.restart();
  expect(
    world
      .register("looker")
      .call("status", {})
      .peers.filter((p) => p.presence === "idle")
      .map((p) => p.handle),
  ).toEqual(["old-hand"]);
});

test("nobody speaks through a peer that is gone", () => {
  world = new World();
  const worker = world.session("worker", { client: "claude" });
  const owner = world.owner({}, worker.fields.host.hostPid);
  expect(owner.call("whoami", {}).via).toBe("worker");
  worker.call("session", { ...worker.fields, event: "session-end" });
  world.advance(4_000);
  worker.close();
  owner.call("prune", {});
  const asker = world.register("asker");
  const { messageId } = asker.call("send", { threadId: null, to: ["renn"], body: "hello" });
  expect(owner.call("reply", { messageId, body: "yes" }).deliveries.map((d) => d.handle)).toEqual(["asker"]);
  expect(owner.call("whoami", {}).via).toBeNull();
});

test("a search for a NUL finds nothing, and is no fault of the broker", () => {
  world = new World();
  const asker = world.register("asker");
  world.register("bob");
  asker.call("send", { threadId: null, to: ["bob"], body: "needle in hay" });
  expect(asker.call("search", { text: 'needle\u0000"' }).results).toHaveLength(1);
});

test("a wait ends when the one who had not answered is withdrawn from", () => {
  world = new World();
  const asker = world.register("asker");
  world.register("bob").close();
  world.register("cat").close();
  const { messageId, threadId } = asker.call("send", { threadId: null, to: ["bob", "cat"], body: "hello" });
  const waiting = world.register("asker");
  const id = waiting.request("wait", { threadId, messageId, until: "all_replied" });
  world.register("bob").call("reply", { messageId, body: "yes" });
  expect(waiting.frames.filter((f) => "id" in f)).toEqual([]);
  asker.call("cancel", { messageId });
  expect(waiting.answer(id).ok).toBe(true);
});
