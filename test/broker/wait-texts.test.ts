// What a wait's answer shows of long replies (cases 33).
import { expect, test } from "bun:test";
import { World } from "../world.ts";

test("a reply that is too long for a session is marked where a wait cuts it, and not where it just fits", () => {
  const world = new World();
  const ann = world.register("ann");
  const bob = world.register("bob");
  ann.call("send", { threadId: null, to: "bob", body: "well?" });
  bob.call("reply", { messageId: 1, body: "x".repeat(4000) });
  bob.call("reply", { messageId: 1, body: "y".repeat(4001) });
  const { replies } = ann.call("wait", { threadId: 1, until: "all_replied", timeoutMs: 0 });
  expect(replies[0]).toMatchObject({ body: "x".repeat(4000) });
  expect(replies[0]).not.toHaveProperty("truncated");
  expect(replies[1]).toMatchObject({
    truncated: true,
    body: expect.stringMatching(/^y{4000}\n… cut: the whole message has 4001 characters; /),
  });
});
