// When the disk fails: what was answered with ok is stored, what was not leaves no trace, in the file or in memory (semantics §2, §10).
import { describe, expect, test } from "bun:test";
import { FakeNative, testPorts, token, World } from "../world.ts";

const hi = { threadId: null, to: "bob", body: "hi" };

function two() {
  const world = new World();
  return { world, ann: world.register("ann"), bob: world.register("bob", { listen: true }) };
}

/** Everything that a client can see of the bus. */
function picture(world: World) {
  const eye = world.connect("eye");
  eye.call("register", { owner: true, clientKind: "cli" });
  const seen = {
    peers: eye
      .call("status", {})
      .peers.map(({ lastSeenAt: _, ...p }) => p)
      .sort((a, b) => (a.handle < b.handle ? -1 : 1)),
    messages: eye.call("export", {}).messages,
    groups: eye.call("groups", { action: "list" }),
    stats: (({ waits, handedOver, unreadByState, listeners, sessions }) => ({ waits, handedOver, unreadByState, listeners, sessions }))(
      eye.call("stats", {}),
    ),
  };
  eye.close();
  return seen;
}

describe("a COMMIT that fails once", () => {
  test("costs nothing: the requests of its turn are done one by one", () => {
    const { world, ann, bob } = two();
    const ids = [
      ann.post("send", hi),
      ann.post("send", { ...hi, body: "two" }),
      bob.post("send", { threadId: null, to: "ann", body: "three" }),
    ];
    world.faults.commits = 1;
    world.settle();
    expect(world.faults.happened).toBe(1);
    expect(ids.map((id, n) => (n < 2 ? ann : bob).answer(id).ok)).toEqual([true, true, true]);
    expect(bob.pushed()).toEqual([1, 2]);
    expect(ann.call("export", {}).messages.map((m) => m.body)).toEqual(["hi", "two", "three"]);
  });
});

describe("a request that the disk refuses", () => {
  type Step = [string, (w: World) => void];
  const requests: [string, object][] = [
    ["send", { ...hi, body: "lost" }],
    ["send", { threadId: 1, to: ["bob", "cal", "worker"], body: "lost", key: "k" }],
    ["reply", { messageId: 2, body: "lost", verdict: "agree" }],
    ["ack", { ids: [2] }],
    ["read", { ids: [2] }],
    ["thread", { threadId: 1, full: true }],
    ["delivered", { ids: [2] }],
    ["groups", { action: "create", name: "lost", members: ["bob"] }],
    ["groups", { action: "add", name: "crew", members: ["cal"] }],
    ["groups", { action: "remove", name: "crew", members: ["bob"] }],
    ["groups", { action: "delete", name: "crew" }],
    ["register", { handle: "newcomer", clientKind: "cli", display: "lost" }],
    ["register", { handle: "ann", clientKind: "mcp", display: "lost", listen: true }],
    ["prune", {}],
    ["name", { handle: "lost" }],
    ["cancel", { messageId: 1 }],
    ["mute", { handle: "bob", forMs: 1000 }],
    ["hook", { event: "prompt" }],
    ["fetch-push", { handle: "ann", limit: 5 }],
    ["wait", { threadId: 1, until: "any_replied", timeoutMs: 0 }],
    [
      "session",
      { event: "session-start", client: "gemini", cliSessionId: "lost", host: { hostPid: 5, hostStart: 5 }, title: "Lost title" },
    ],
    ["session", { event: "session-end", client: "claude", cliSessionId: "id-worker", host: { hostPid: 1000, hostStart: "t1000" } }],
    [
      "session",
      { event: "prompt", client: "claude", cliSessionId: "id-worker", host: { hostPid: 1000, hostStart: "t1000" }, handle: "old-hand" },
    ],
  ];
  const ways: Step[] = [
    ["at the commit", (w) => (w.faults.commits = 2)],
    ["at the commit, and rolls back by itself", (w) => Object.assign(w.faults, { commits: 2, endsTransaction: true })],
  ];
  function prepared() {
    const world = new World();
    const ann = world.register("ann");
    world.register("old-hand").close();
    const [bob, cal] = [world.register("bob"), world.register("cal", { listen: true })];
    world.session("worker", { pid: world.system.start(1, 1000) });
    world.register("nothing").close();
    world.advance(6000);
    ann.call("send", { threadId: null, to: ["bob", "worker"], body: "first" });
    bob.call("send", { threadId: 1, to: ["ann", "old-hand"], body: "second" });
    bob.call("reply", { messageId: 1, body: "third" });
    ann.call("groups", { action: "create", name: "crew", members: ["bob"] });
    cal.call("send", { threadId: null, to: "bob", body: "fourth" });
    return { world, ann };
  }
  for (const [way, break_] of ways)
    for (const [type, fields] of requests)
      test(`${type} ${JSON.stringify(fields).slice(0, 60)} ${way}: internal, and nothing of it stays`, () => {
        const { world, ann } = prepared();
        const before = picture(world);
        break_(world);
        expect(ann.refused(type, fields).code).toBe("internal");
        expect(world.faults.happened).toBe(2);
        Object.assign(world.faults, { commits: 0, endsTransaction: false });
        expect(picture(world)).toEqual(before);
        expect(ann.call("whoami", {}).handle).toBe("ann");
        const frame = ann.answer(ann.request(type, fields));
        expect(frame.ok).toBe(true);
      });

  test("at any of its writes: the same", () => {
    for (let write = 0; write < 5; write++)
      for (const endsTransaction of [false, true]) {
        const { world, ann } = prepared();
        const before = picture(world);
        world.faults.writesLeft = write;
        world.faults.endsTransaction = endsTransaction;
        const id = ann.request("send", { ...hi, to: ["bob", "cal"], body: "lost" });
        expect(world.faults.happened).toBe(1);
        // The turn is done again one by one, and the fault is over by then.
        expect(ann.answer(id).ok).toBe(true);
        expect(picture(world).messages).toHaveLength(before.messages.length + 1);
        expect(world.connections.get("cal")?.pushed()).toEqual([5]);
      }
  });
});

test("what a refused send counted for is taken back: rate, duplicates, keys", () => {
  const { world, ann } = two();
  world.faults.commits = 2;
  expect(ann.refused("send", { ...hi, key: "k" }).code).toBe("internal");
  expect(ann.call("send", { ...hi, key: "k" })).toMatchObject({ messageId: 1, threadId: 1 });
  for (let n = 0; n < 19; n++) ann.call("send", { ...hi, body: `m${n}` });
  expect(ann.refused("send", { ...hi, body: "21" }).code).toBe("rate_limited");
});

test("a request that fails by itself does not take the others of its turn with it", () => {
  const native = new FakeNative();
  const world = new World({ ports: testPorts({ claude: { native } }) });
  const [ann, bob] = [world.register("ann"), world.register("bob", { listen: true })];
  world.session("worker");
  native.available = () => {
    throw new Error("nobody expected this");
  };
  const ids = [ann.post("send", hi), bob.post("send", { threadId: null, to: "worker", body: "x" }), ann.post("send", { ...hi, body: "y" })];
  world.settle();
  const codes = ids.map((id, n) => (n === 1 ? bob : ann).answer(id)).map((f) => (f.ok ? "ok" : f.error.code));
  expect(codes).toEqual(["ok", "internal", "ok"]);
  expect(ann.call("export", {}).messages.map((m) => [m.id, m.body])).toEqual([
    [1, "hi"],
    [2, "y"],
  ]);
  expect(world.logs.filter((l) => l.event === "turn-failed")).toHaveLength(2);
  expect(JSON.stringify(world.logs)).not.toContain(token);
});

describe("a connection that closes while the disk fails", () => {
  test("is taken from its peer as soon as it works again, and what it had is queued", () => {
    const { world, ann, bob } = two();
    ann.call("send", hi);
    world.faults.commits = 1;
    bob.close();
    expect(ann.call("why", { messageId: 1 }).deliveries[0]?.state).toBeOneOf(["sent", "queued"]);
    world.advance(10_000);
    expect(ann.call("why", { messageId: 1 }).deliveries[0]?.state).toBe("queued");
    expect(ann.call("status", {}).peers.find((p) => p.handle === "bob")?.presence).toBe("offline");
  });
});

test("what time causes is tried again where the disk refused it", () => {
  const { world, ann } = two();
  const worker = world.session("worker");
  ann.call("send", { threadId: null, to: "worker", body: "hi" });
  worker.call("hook", { event: "prompt" });
  world.advance(119_000);
  world.faults.commits = 3;
  world.advance(10_000);
  expect(world.faults.commits).toBe(0);
  expect(ann.call("why", { messageId: 1 }).deliveries[0]?.state).toBe("queued");
});

test("a wake is not sent for a message that was not stored", () => {
  const native = new FakeNative();
  const world = new World({ ports: testPorts({ claude: { native } }) });
  const ann = world.register("ann");
  world.session("worker");
  world.faults.commits = 2;
  expect(ann.refused("send", { threadId: null, to: "worker", body: "hi" }).code).toBe("internal");
  expect(native.frames).toEqual([]);
});

test("proof that a failed turn had read is read again", () => {
  const world = new World();
  const ann = world.register("ann");
  world.system.append("/t", "start");
  const worker = world.session("worker", { transcriptPath: "/t" });
  ann.call("send", { threadId: null, to: "worker", body: "hi" });
  const [text = ""] = worker.call("hook", { event: "prompt" }).texts;
  world.system.append("/t", JSON.stringify({ type: "attachment", attachment: { type: "hook_additional_context", content: [text] } }));
  world.faults.commits = 2;
  expect(worker.refused("hook", { event: "post-tool" }).code).toBe("internal");
  worker.call("hook", { event: "post-tool" });
  expect(ann.call("why", { messageId: 1 }).deliveries[0]?.state).toBe("delivered");
});
