// Waits that wait for each other: every one of them ends, not only the first that is looked at (semantics §9).
import { expect, test } from "bun:test";
import { World } from "../world.ts";

test("both waits of a circle end at once, and name it", () => {
  const world = new World();
  world.register("ann");
  world.register("bob");
  world.play(`
    ann> send {threadId: null, to: bob, body: yours}
    ann< ok {threadId: 1}
    bob> send {threadId: null, to: ann, body: mine}
    bob< ok {threadId: 2}
    ann> wait {threadId: 1, until: all_replied, early: true}
    bob> wait {threadId: 2, until: all_replied, early: true}
    bob< ok {conditionMet: false, timedOut: false}
    ann< ok {conditionMet: false, timedOut: false}
  `);
  expect(world.broker.bus.waits.size).toBe(0);
});
