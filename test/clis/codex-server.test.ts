// Waking Codex through its control socket, against a stand-in server.
import { afterEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import type { NativeOutcome, SessionView } from "../../src/broker/ports.ts";
import { codexServer, listenArgument } from "../../src/clis/codex-server.ts";
import { connectJson } from "../../src/clis/websocket.ts";
import { realSystem } from "../../src/system.ts";
import { until } from "./until.ts";

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

const never = new AbortController().signal;

/** A WebSocket server on a Unix socket that answers each call as told. */
function server(answer: (call: { id: number; method: string }) => string) {
  const folder = mkdtempSync(`${tmpdir()}/cx-`);
  const path = `${folder}/s.sock`;
  const heard: unknown[] = [];
  const running = Bun.serve({
    unix: path,
    fetch: (request, self) => (self.upgrade(request) ? undefined : new Response("no", { status: 400 })),
    websocket: {
      message(socket, message) {
        const call = JSON.parse(String(message));
        heard.push(call);
        socket.send(answer(call));
      },
    },
  });
  ends.push(() => {
    void running.stop(true);
    rmSync(folder, { recursive: true, force: true });
  });
  return { path, heard };
}

test("messages of every length both ways", async () => {
  const s = server((call) => JSON.stringify(call));
  const back: unknown[] = [];
  const socket = await connectJson(
    s.path,
    (message) => back.push(message),
    () => {},
    never,
  );
  const sent = [0, 1, 100, 125, 126, 65_535, 65_536, 300_000].map((n, id) => ({ id, method: "é".repeat(n) }));
  for (const message of sent) socket.send(message);
  await until(() => back.length === sent.length);
  socket.close();
  expect(s.heard).toEqual(sent);
  expect(back).toEqual(sent);
});

type Socket = { write(bytes: string | Uint8Array): number; end(bytes?: string): unknown };

/** A server that does what it is told with the first bytes of each connection; `open` counts those that are not closed. */
function plain(greet: (socket: Socket) => void, more: (socket: Socket) => void = () => {}) {
  const folder = mkdtempSync(`${tmpdir()}/cx-`);
  const path = `${folder}/s.sock`;
  const made = { path, open: 0, seen: 0 };
  const greeted = new Set<unknown>();
  const running = Bun.listen({
    unix: path,
    socket: {
      open() {
        made.open++;
        made.seen++;
      },
      data(socket) {
        if (greeted.has(socket)) return;
        greeted.add(socket);
        greet(socket);
      },
      drain: more,
      close: () => void made.open--,
    },
  });
  ends.push(() => {
    running.stop(true);
    rmSync(folder, { recursive: true, force: true });
  });
  return made;
}

const nothing = () => {};
const upgraded = "HTTP/1.1 101 Switching Protocols\r\n\r\n";

test("a server that never answers keeps no connection once the time is over", async () => {
  for (const greet of [nothing, (socket: Socket) => void socket.write(upgraded)]) {
    const s = plain(greet);
    const time = new AbortController();
    let closed = 0;
    const connected = connectJson(s.path, nothing, () => closed++, time.signal).catch(nothing);
    await until(() => s.open === 1);
    time.abort();
    await until(() => s.open === 0 && closed === 1);
    await connected;
  }
});

test("a push to a server that says nothing fails, and its connection is closed", async () => {
  const s = plain(nothing);
  const outcomes: NativeOutcome[] = [];
  codexServer("1", false, 50).push(await session(s.path), { ids: [42], text: "x", from: "x" }, (outcome) => outcomes.push(outcome));
  await until(() => s.seen === 1 && s.open === 0 && outcomes.length === 1);
  expect(outcomes).toEqual([{ kind: "failed", reason: "the app-server of Codex does not answer" }]);
});

const text = (head: number, length: number) => {
  const frame = Buffer.alloc(10 + length, "x");
  frame.set([head, 127]);
  frame.writeBigUInt64BE(BigInt(length), 2);
  return frame;
};
const floods: [what: string, bytes: Uint8Array][] = [
  ["fragments without an end", Buffer.concat([text(0x01, 60_000), ...Array.from({ length: 20 }, () => text(0x00, 60_000))])],
  ["empty fragments without an end", Buffer.alloc(4000)],
  ["a frame that claims to be huge", text(0x81, 0).fill(255, 2)],
];
for (const [what, bytes] of floods)
  test(`cut off: ${what}`, async () => {
    let unsent = Buffer.concat([Buffer.from(upgraded), bytes]);
    const flush = (socket: Socket) => {
      unsent = unsent.subarray(Math.max(0, socket.write(unsent)));
    };
    const s = plain(flush, flush);
    const heard: unknown[] = [];
    let closed = 0;
    await connectJson(
      s.path,
      (message) => heard.push(message),
      () => closed++,
      never,
    ).catch(nothing);
    await until(() => closed === 1 && s.open === 0);
    expect(heard).toEqual([]);
  });

test("cut off: an answer to the upgrade that does not end", async () => {
  const s = plain((socket) => void socket.write(Buffer.alloc(100_000, "x")));
  await expect(connectJson(s.path, nothing, nothing, never)).rejects.toThrow("no WebSocket");
  await until(() => s.open === 0);
});

test("a message in fragments, byte by byte", async () => {
  const frames = Buffer.concat([
    Buffer.from(upgraded),
    Buffer.from([0x01, 3]),
    Buffer.from('{"a'),
    Buffer.from([0x89, 0, 0x80, 4]),
    Buffer.from('":1}'),
  ]);
  const s = plain((socket) => {
    let at = 0;
    const next = () => {
      socket.write(frames.subarray(at, ++at));
      if (at < frames.length) setImmediate(next);
    };
    next();
  });
  const heard: unknown[] = [];
  const socket = await connectJson(s.path, (message) => heard.push(message), nothing, never);
  await until(() => heard.length === 1);
  socket.close();
  expect(heard).toEqual([{ a: 1 }]);
});

test("an answer that is no upgrade, and a server that hangs up", async () => {
  const { path } = plain((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
  await expect(connectJson(path, nothing, nothing, never)).rejects.toThrow("400 Bad Request");
});

/** A session in a process that seems to be the app-server at `path`. */
async function session(path: string): Promise<SessionView> {
  const host = Bun.spawn(["sh", "-c", "echo up; read line", "app-server", "--listen", `unix://${path}`], { stdin: "pipe", stdout: "pipe" });
  ends.push(() => host.kill());
  await host.stdout.getReader().read();
  const hostStart = realSystem.processStart(host.pid) ?? "";
  return { client: "codex", cliSessionId: "t1", hostPid: host.pid, hostStart, transcriptPath: null, cwd: null, native: null };
}

test("a push is a turn with a neutral input and the messages as untrusted context", async () => {
  const s = server((call) => JSON.stringify({ id: call.id, result: {} }));
  const outcomes: NativeOutcome[] = [];
  const channel = codexServer("1");
  const view = await session(s.path);
  expect(channel.available(view)).toBe(true);
  channel.push(view, { ids: [42, 43], text: "[murmur m42 …", from: "x" }, (outcome) => outcomes.push(outcome));
  await until(() => s.heard.length === 3);
  expect(s.heard).toMatchObject([
    { method: "initialize", params: { clientInfo: { name: "renn" } } },
    { method: "initialized" },
    {
      method: "turn/start",
      params: {
        threadId: "t1",
        input: [{ type: "text", text: "renn: new from other agents: m42, m43" }],
        additionalContext: { renn: { kind: "untrusted", value: "[murmur m42 …" } },
      },
    },
  ]);
  expect(outcomes).toEqual([]);
});

test("a thread that the server does not hold, and a server that is gone", async () => {
  const s = server((call) =>
    JSON.stringify(call.method === "turn/start" ? { id: call.id, error: { message: "thread not found" } } : { id: call.id, result: {} }),
  );
  const outcomes: NativeOutcome[] = [];
  const channel = codexServer("1");
  const push = (view: SessionView) => channel.push(view, { ids: [42], text: "x", from: "x" }, (outcome) => outcomes.push(outcome));
  push(await session(s.path));
  await until(() => outcomes.length === 1);
  push(await session(`${s.path}.gone`));
  expect(outcomes).toEqual([
    { kind: "failed", reason: "turn/start: thread not found" },
    { kind: "failed", reason: "no app-server of Codex holds this session" },
  ]);
});

test("a thread that is not loaded is loaded first where the user allowed it", async () => {
  let loaded = false;
  const s = server((call) => {
    if (call.method === "thread/resume") loaded = true;
    const refuse = call.method === "turn/start" && !loaded;
    return JSON.stringify(refuse ? { id: call.id, error: { code: -32600, message: "thread not found" } } : { id: call.id, result: {} });
  });
  const outcomes: NativeOutcome[] = [];
  codexServer("1", true).push(await session(s.path), { ids: [42], text: "x", from: "x" }, (outcome) => outcomes.push(outcome));
  await until(() => s.heard.length === 5);
  const methods = (s.heard as { method: string }[]).map((call) => call.method);
  expect(methods).toEqual(["initialize", "initialized", "turn/start", "thread/resume", "turn/start"]);
  expect(s.heard).toContainEqual(expect.objectContaining({ params: { threadId: "t1", excludeTurns: true } }));
  expect(outcomes).toEqual([]);
});

const listens: [string, string | null][] = [
  ["codex app-server --listen unix:// --managed-daemon", ""],
  ["codex app-server --listen unix:///x/y.sock", "/x/y.sock"],
  ["codex app-server --listen=unix:///x/y.sock", "/x/y.sock"],
  ["codex app-server", null],
  ["codex app-server --listen ws://127.0.0.1:1", null],
  ["codex exec hello --listen unix:///x", null],
  ["codex", null],
];
for (const [line, path] of listens) test(`where a process listens: ${line}`, () => expect(listenArgument(line.split(" "))).toBe(path));
