// Readers that do not read: the broker does not grow with them, and nothing is lost (semantics §2).
import { describe, expect, test } from "bun:test";
import { World } from "../world.ts";

function pair(fields: object = { listen: true }) {
  const world = new World();
  return { world, ann: world.register("ann"), bob: world.register("bob", fields) };
}

describe("a reader that is slow", () => {
  test("past eight MiB of events is dropped, and what it did not confirm is queued again", () => {
    const { world, ann, bob } = pair({ listen: true });
    bob.slow = true;
    for (let n = 0; n < 18; n++)
      ann.call("send", { threadId: null, to: "bob", body: `${n}`, references: Array(20).fill("日".repeat(400)) });
    const before = bob.lines.length;
    bob.conn.sink.write(`${"x".repeat(8_400_000)}\n`.replace(/^x+/, (x) => JSON.stringify(x)));
    ann.call("send", { threadId: null, to: "bob", body: "one more" });
    expect(bob.ended).toBe(true);
    world.settle();
    expect(bob.lines.length).toBe(before + 1);
    expect(ann.call("why", { messageId: 1 }).deliveries[0]?.state).toBe("queued");
    expect(world.register("bob", { listen: true }).pushed()).toHaveLength(19);
  });

  test("a long queue is given in parts, each when the one before has left, and in order", () => {
    const world = new World();
    const ann = world.register("ann");
    world.register("bob").close();
    const references = Array(20).fill("\u0001".repeat(400));
    const ids: number[] = [];
    for (let n = 0; n < 70; n++) {
      world.advance(4000);
      ids.push(ann.call("send", { threadId: null, to: "bob", body: `${n}`, references }).messageId);
    }
    const bob = world.connect("bob");
    bob.slow = true;
    bob.request("register", { handle: "bob", clientKind: "mcp", listen: true });
    expect(bob.conn.sink.pending()).toBeLessThan(3 * 1_048_576);
    const first = bob.events("push").length;
    expect(ann.call("send", { threadId: null, to: "bob", body: "late" }).deliveries[0]?.state).toBe("queued");
    expect(bob.events("push")).toEqual([]);
    bob.drain();
    expect([...ids.slice(0, first), ...bob.pushed()]).toEqual([...ids, 71]);
    expect(bob.ended).toBe(false);
  });

  test("past four MiB of answers is not read from until they have left", () => {
    const { ann, bob } = pair({});
    ann.call("send", { threadId: null, to: "bob", body: "x".repeat(1_000_000) });
    bob.slow = true;
    const ids = Array.from({ length: 50 }, () => bob.post("read", { ids: [1] }));
    bob.request("status");
    const answered = () => bob.frames.length;
    expect(answered()).toBeLessThan(7);
    bob.drain();
    expect(answered()).toBe(ids.length + 1);
  });
});
