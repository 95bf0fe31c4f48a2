// Whatever happens to a message, its delivery moves as the table of semantics §7 says, and counts agree with the file.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { deliveryStates } from "../../src/protocol/constants.ts";
import { testPorts, World } from "../world.ts";

const rank = (state: string | undefined) => deliveryStates.indexOf(state as (typeof deliveryStates)[number]);

type Act = (world: World) => void;
const bob = (world: World) => {
  const open = world.connections.get("bob");
  return open && !open.conn.closed ? open : world.register("bob");
};
const acts: Record<string, Act> = {
  "fetch-push": (w) => bob(w).request("fetch-push", { handle: "bob", limit: 3 }),
  "hook prompt": (w) => bob(w).request("hook", { event: "prompt" }),
  "hook post-tool": (w) => bob(w).request("hook", { event: "post-tool" }),
  listen: (w) => bob(w).request("register", { handle: "bob", clientKind: "adapter", listen: true }),
  "listen no more": (w) => bob(w).request("register", { handle: "bob", clientKind: "mcp", listen: false }),
  "be somebody else": (w) => bob(w).request("register", { handle: "carl", clientKind: "mcp" }),
  close: (w) => bob(w).close(),
  delivered: (w) => bob(w).request("delivered", { ids: [1] }),
  ack: (w) => bob(w).request("ack", { ids: [1] }),
  read: (w) => bob(w).request("read", { ids: [1] }),
  "thread in full": (w) => bob(w).request("thread", { threadId: 1, full: true }),
  reply: (w) => bob(w).request("reply", { messageId: 1, body: `yes ${w.system.mono}` }),
  "a minute": (w) => w.advance(60_000),
  "a second": (w) => w.advance(1000),
  crash: (w) => w.restart(),
  "a commit that fails": (w) => {
    w.faults.commits = 1;
  },
};

test("forward, or from sent to queued, and nothing else", () => {
  fc.assert(
    fc.property(
      fc.constantFrom("push", "notify", "silent"),
      fc.array(fc.constantFrom(...Object.keys(acts)), { minLength: 1, maxLength: 25 }),
      (mode, names) => {
        const world = new World({ ports: testPorts() });
        world.register("ann").call("send", { threadId: null, to: world.register("bob").call("whoami", {}).handle, body: "hi", mode });
        let before = "queued";
        for (const name of names) {
          acts[name]?.(world);
          const eye = world.connect("eye");
          eye.call("register", { handle: "eye", clientKind: "cli" });
          const delivery = eye.call("why", { messageId: 1 }).deliveries[0];
          const state = delivery?.state ?? "queued";
          const back = before === "sent" && state === "queued";
          expect(back || rank(state) >= rank(before)).toBe(true);
          if (rank(before) >= 2) expect(rank(state)).toBeGreaterThanOrEqual(rank(before));
          const open = delivery?.attempts.filter((a) => a.endedAt === null).length;
          expect(open).toBe(state === "sent" ? 1 : 0);
          expect(delivery?.attempts.length).toBeLessThanOrEqual(3);
          const unread = eye.call("status", {}).peers.find((p) => p.handle === "bob")?.unread;
          const stored = eye
            .call("export", {})
            .messages.flatMap((m) => m.deliveries.filter((d) => d.handle === "bob" && rank(d.state) <= 2));
          expect(unread).toBe(stored.length);
          eye.close();
          before = state;
        }
        world.end();
      },
    ),
    { numRuns: 25 },
  );
});
