// When a hand-over over hooks counts as delivered, and when it goes back (semantics §7).
import { describe, expect, test } from "bun:test";
import { testPorts, World } from "../world.ts";

const file = "/transcript.jsonl";
const row = (text: string) => JSON.stringify({ type: "attachment", attachment: { type: "hook_additional_context", content: [text] } });

function hooked(client = "claude", fields: Record<string, unknown> = { transcriptPath: file }) {
  const world = new World();
  world.system.append(file, "before");
  const ann = world.register("ann");
  const worker = world.session("worker", { client, ...fields });
  const hook = (event = "prompt") => worker.call("hook", { event });
  const send = (body: string) => ann.call("send", { threadId: null, to: "worker", body });
  const why = (id = 1) => {
    const delivery = (world.connections.get("ann") ?? ann).call("why", { messageId: id }).deliveries[0];
    return [delivery?.state, ...(delivery?.attempts.map((a) => `${a.channel} ${a.outcome}`) ?? [])];
  };
  return { world, ann, worker, hook, send, why };
}

describe("a transcript", () => {
  test("proves what it shows after the hand-over, within a second", () => {
    const { world, hook, send, why } = hooked();
    send("one");
    const { texts } = hook();
    world.system.append(file, "noise", row(texts[0] ?? ""));
    expect(why()).toEqual(["sent", "hook open"]);
    world.advance(1000);
    expect(why()).toEqual(["delivered", "hook proven"]);
  });

  test("proves nothing by a tag in the middle of a line, by another number, by what stood there before, or by other rows", () => {
    const { world, hook, send, why } = hooked();
    world.system.append(file, row("[murmur m1 thread 1 forged before"));
    send("one");
    hook();
    world.system.append(
      file,
      row("x [murmur m1 thread 1"),
      row("[murmur m12 thread 1"),
      row("[ murmur m1 thread"),
      JSON.stringify({ type: "user", message: { content: "[murmur m1 thread 1 typed" } }),
      JSON.stringify({ type: "assistant", message: { content: [{ type: "text", text: "[murmur m1 said" }] } }),
      "[murmur m1 no JSON",
      "{",
    );
    world.advance(119_000);
    expect(why()[0]).toBe("sent");
    world.advance(1000);
    expect(why()).toEqual(["queued", "hook no-proof"]);
  });

  test("proves late: what went back to queued meanwhile is not shown twice", () => {
    const { world, hook, send, why } = hooked();
    send("one");
    const [text = ""] = hook().texts;
    world.advance(125_000);
    expect(why()[0]).toBe("queued");
    world.system.append(file, row(text));
    expect(hook("post-tool").texts).toEqual([]);
    expect(why()[0]).toBe("delivered");
  });

  test("that was replaced or shrunk is read from its start", () => {
    const { world, hook, send, why } = hooked();
    send("one");
    const [text = ""] = hook().texts;
    world.system.replace(file, row(text));
    world.advance(1000);
    expect(why()[0]).toBe("delivered");
  });

  test("proves only what was handed to this session", () => {
    const { world, hook, send, why } = hooked();
    send("one");
    hook();
    send("two");
    world.system.append(file, row("[murmur m2 thread 2 #1"), row("[murmur m999999999999999 x"));
    world.advance(1000);
    expect([why(1)[0], why(2)[0]]).toEqual(["sent", "queued"]);
  });

  test("is read on after a restart from where the hand-over stood", () => {
    const { world, hook, send, why } = hooked();
    send("one");
    const [text = ""] = hook().texts;
    world.system.append(file, row(text));
    world.restart();
    world.register("ann");
    world.advance(1000);
    expect(why()).toEqual(["delivered", "hook proven"]);
  });

  test("that vanishes proves nothing and breaks nothing", () => {
    const { world, hook, send, why } = hooked();
    send("one");
    hook();
    world.system.files.delete(file);
    world.advance(120_000);
    expect(why()[0]).toBe("queued");
    expect(hook("post-tool").texts).toHaveLength(1);
  });

  test("whose reader fails on a row proves by the next one", () => {
    const world = new World({
      ports: testPorts({
        claude: {
          proofReader: () => (text) => {
            if (text === "bad") throw new Error("a row that nobody expected");
            return [1];
          },
        },
      }),
    });
    world.register("ann").call("send", { threadId: null, to: world.session("worker", { transcriptPath: file }).fields.handle, body: "x" });
    world.connections.get("worker")?.call("hook", { event: "prompt" });
    world.system.append(file, "bad", "good");
    world.advance(1000);
    expect(world.connections.get("ann")?.call("why", { messageId: 1 }).deliveries[0]?.state).toBe("delivered");
  });
});

describe("the window", () => {
  test("of 120 s stands still while a busy session had no hook event since", () => {
    const { world, worker, hook, send, why } = hooked();
    send("one");
    hook();
    world.advance(10);
    worker.call("session", { ...worker.fields, event: "prompt" });
    send("two");
    expect(hook("post-tool").texts).toHaveLength(1);
    world.advance(600_000);
    expect([why(1)[0], why(2)[0]]).toEqual(["queued", "sent"]);
    worker.call("session", { ...worker.fields, event: "stop" });
    world.advance(119_000);
    expect(why(2)[0]).toBe("sent");
    world.advance(1000);
    expect(why(2)[0]).toBe("queued");
  });

  test("begins anew after a restart", () => {
    const { world, hook, send, why } = hooked();
    send("one");
    hook();
    world.advance(100_000);
    world.restart();
    world.register("ann");
    world.advance(119_999);
    expect(why()[0]).toBe("sent");
    world.advance(1);
    expect(why()[0]).toBe("queued");
  });
});

describe("an end", () => {
  for (const [name, end] of [
    ["session-end", (w: ReturnType<typeof hooked>) => w.worker.call("session", { ...w.worker.fields, event: "session-end" })],
    [
      "host death",
      (w: ReturnType<typeof hooked>) => {
        w.world.system.kill(w.worker.fields.host.hostPid);
        w.world.advance(6000);
      },
    ],
    ["resume", (w: ReturnType<typeof hooked>) => w.worker.call("session", { ...w.worker.fields, source: "resume" })],
    [
      "clear",
      (w: ReturnType<typeof hooked>) =>
        w.worker.call("session", { ...w.worker.fields, handle: undefined, source: "clear", cliSessionId: "new" }),
    ],
  ] as const)
    test(`by ${name} gives back what was handed over, after one last look`, () => {
      const w = hooked();
      w.send("one");
      w.send("two");
      const [first = ""] = w.hook().texts;
      w.world.system.append(file, row(first));
      end(w);
      expect([w.why(1), w.why(2)]).toEqual([
        ["delivered", "hook proven"],
        ["queued", "hook ended"],
      ]);
    });
});

describe("a session without a source of proof", () => {
  test("has it at its next hook event, marked as unproven", () => {
    const { world, hook, send, why } = hooked("zcode");
    send("one");
    hook();
    world.advance(60_000);
    expect(why()).toEqual(["sent", "hook open"]);
    hook("post-tool");
    expect(why()).toEqual(["delivered", "hook unproven"]);
  });

  test("has it not when no event follows", () => {
    const { world, hook, send, why } = hooked("claude", {});
    send("one");
    hook();
    world.advance(120_000);
    expect(why()).toEqual(["queued", "hook no-proof"]);
  });
});

test("hand-overs over connections are queued again after a restart", () => {
  const world = new World();
  world.register("ann").call("send", { threadId: null, to: world.register("bob", { listen: true }).call("whoami", {}).handle, body: "x" });
  world.restart();
  const bob = world.register("bob");
  expect(bob.call("why", { messageId: 1 }).deliveries[0]).toMatchObject({
    state: "queued",
    attempts: [{ channel: "listener", outcome: "restart" }],
  });
  expect(bob.call("fetch-push", { handle: "bob", limit: 1 }).messages).toHaveLength(1);
});

test("kill -9 between proof and reply shows no second copy", () => {
  const { world, hook, send, why } = hooked();
  send("one");
  const [text = ""] = hook().texts;
  world.system.append(file, row(text));
  world.advance(1000);
  world.restart();
  const worker = world.connect("w2");
  world.register("ann");
  expect(why()[0]).toBe("delivered");
  worker.call("register", { clientKind: "hook", sessionHint: "id-worker" });
  expect(worker.call("hook", { event: "prompt" }).texts).toEqual([]);
});

describe("a push on a listening connection", () => {
  test("is proven by the transcript too: while it is open, when it closes, and late", () => {
    const { world, ann, worker, why, send } = hooked();
    const adapter = world.connect("adapter");
    adapter.call("session", { ...worker.fields, event: "stop", listen: true });
    send("one");
    expect(why()).toEqual(["sent", "listener open"]);
    world.system.append(file, row("[murmur m1 thread 1 #1"));
    world.advance(1000);
    expect(why()).toEqual(["delivered", "listener proven"]);
    send("two");
    world.system.append(file, row("[murmur m2 thread 2 #1"));
    adapter.close();
    expect(why(2)).toEqual(["delivered", "listener proven"]);
    expect(ann.call("inbox", { unreadOnly: true }).unreadTotal).toBe(0);
  });

  test("comes no more to an adapter whose CLI is gone", () => {
    const { world, worker, ann } = hooked();
    const adapter = world.connect("adapter");
    adapter.call("session", { ...worker.fields, event: "stop", listen: true });
    world.system.kill(worker.fields.host.hostPid);
    world.advance(6000);
    const [delivery] = ann.call("send", { threadId: null, to: "worker", body: "hello?" }).deliveries;
    expect(delivery).toMatchObject({ state: "queued", presence: "presumed-offline", reach: "when-back" });
  });
});
