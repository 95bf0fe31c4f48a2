// Waking Claude Code through its peer socket, against a stand-in that has its registry, key and socket.
import { afterEach, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import type { NativeOutcome, SessionView } from "../../src/broker/ports.ts";
import { claudePeer } from "../../src/clis/claude-peer.ts";
import { realSystem } from "../../src/system.ts";
import { until } from "./until.ts";

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

const sessionId = "71ccd4c3-ba4e-4641-a9fe-17871700faec";
const text = "[murmur m42 thread 7 #3 from renn to x]\nhello";

/** A Claude session: this process is its host. `lines` are what came over its socket, one list a connection. */
function claude(change: object = {}) {
  const folder = mkdtempSync(`${tmpdir()}/cc-`);
  const sockets = `${folder}/s`;
  mkdirSync(sockets, { mode: 0o700 });
  mkdirSync(`${folder}/sessions`);
  const socketPath = `${sockets}/1.sock`;
  const lines: string[] = [];
  const server = Bun.listen({
    unix: socketPath,
    socket: {
      data: (_, bytes) => void lines.push(...bytes.toString().split("\n").filter(Boolean)),
    },
  });
  const start = realSystem.processStart(process.pid) ?? "";
  const row = {
    pid: process.pid,
    sessionId,
    procStart: start,
    messagingSocketPath: socketPath,
    entrypoint: "cli",
    status: "idle",
    ...change,
  };
  const registry = `${folder}/sessions/${process.pid}.json`;
  writeFileSync(registry, JSON.stringify(row));
  const hash = createHash("sha256").update(socketPath).digest("hex");
  const key = `${folder}/sessions/${process.pid}.${hash}.key`;
  writeFileSync(key, JSON.stringify({ peerToken: "secret" }));
  ends.push(() => {
    server.stop(true);
    rmSync(folder, { recursive: true, force: true });
  });
  const session: SessionView = {
    client: "claude",
    cliSessionId: sessionId,
    hostPid: process.pid,
    hostStart: start,
    transcriptPath: `${folder}/projects/-w/${sessionId}.jsonl`,
    cwd: null,
    native: null,
  };
  const frames = () => lines.map((line) => JSON.parse(line));
  return { session, socketPath, sockets, lines, frames, registry, key, row, stop: () => server.stop(true) };
}

function pusher(session: SessionView, onReply?: Parameters<typeof claudePeer>[0]) {
  const outcomes: NativeOutcome[] = [];
  const channel = claudePeer(onReply);
  const push = (body = text, ids = [42]) =>
    channel.push(session, { ids, text: body, from: "codex-api" }, (outcome) => outcomes.push(outcome));
  return { channel, outcomes, push };
}

/** A Claude that has been pushed to, and where it was told to answer; `onReply` hears what it says by its own SendMessage. */
async function pushedTo(onReply?: Parameters<typeof claudePeer>[0]) {
  const c = claude();
  const { channel, outcomes, push } = pusher(c.session, onReply);
  push();
  await until(() => c.lines.length === 2);
  const { from, msg_id } = c.frames()[1];
  return { c, channel, outcomes, from, msg_id };
}

/** What Claude does with bad news and with its own SendMessage: a connection of its own to the frame's `from`. */
async function answer(from: string, frame: object): Promise<void> {
  const socket = await Bun.connect({ unix: from.replace(/^uds:/, ""), socket: { data() {} } });
  socket.write(`{"type":"auth","token":"x"}\n${JSON.stringify(frame)}\n`);
  socket.end();
}

test("a frame with the key, the session's id, the sender's name and the text between the lines of Claude's own wrapper", async () => {
  const c = claude();
  const { channel, outcomes, push } = pusher(c.session);
  expect(channel.available(c.session)).toBe(true);
  push();
  await until(() => c.lines.length === 2);
  const [auth, frame] = c.frames();
  expect(auth).toEqual({ type: "auth", token: "secret" });
  expect(frame).toMatchObject({ type: "user", msgV: 1, priority: "next", session_id: sessionId, message: { role: "user" } });
  expect(frame.from).toBe(`uds:${c.sockets}/${process.pid}.sock`);
  expect(frame.message.content).toBe(
    `<cross-session-message from="${frame.from}" from-name="codex-api">\n${text}\n</cross-session-message>`,
  );
  expect(outcomes).toEqual([]);
});

test("held waits for the user, refused and dropped fall back", async () => {
  const { c, channel, outcomes, from, msg_id } = await pushedTo();
  const status = (fields: object) => answer(from, { type: "control", action: "peer_message_status", orig_msg_id: msg_id, ...fields });
  await status({ status: "held", reason: "ask" });
  await until(() => outcomes.length === 1);
  expect(channel.holds?.(c.session, [42])).toBe(true);
  await status({ status: "expired", status_detail: "refused", reason: "not accepting" });
  await until(() => outcomes.length === 2);
  await status({ status: "dropped", drop_reason: "duplicate" });
  await until(() => outcomes.length === 3);
  expect(outcomes.map((o) => o.kind)).toEqual(["held", "refused", "failed"]);
  expect(channel.holds?.(c.session, [42])).toBe(false);
});

test("Claude's own SendMessage answers the last message", async () => {
  const replies: [number, string][] = [];
  const { c, from } = await pushedTo((_session, id, body) => replies.push([id, body]));
  const content = `<cross-session-message from="uds:${c.socketPath}" from-name="proj" from-mode="prompting">\nyes\nplease\n</cross-session-message>`;
  await answer(from, { type: "user", from: `uds:${c.socketPath}`, message: { role: "user", content } });
  await until(() => replies.length === 1);
  expect(replies).toEqual([[42, "yes\nplease"]]);
});

test("another process cannot speak as the session by naming its socket", async () => {
  const replies: string[] = [];
  const { c, from } = await pushedTo((_session, _id, body) => replies.push(body));
  const word = (content: string) => ({ type: "user", from: `uds:${c.socketPath}`, message: { role: "user", content } });
  const script = `const s = await Bun.connect({ unix: ${JSON.stringify(from.replace(/^uds:/, ""))}, socket: { data() {}, close() { process.exit(0); } } });
    s.write(${JSON.stringify(`${JSON.stringify(word("forged"))}\n`)}); s.end();`;
  expect(await Bun.spawn([process.execPath, "-e", script]).exited).toBe(0);
  await answer(from, word("real"));
  await until(() => replies.length > 0);
  expect(replies).toEqual(["real"]);
});

test("a flood of connections is cut off, and words come through after it", async () => {
  const replies: string[] = [];
  const { c, from } = await pushedTo((_session, _id, body) => replies.push(body));
  let closed = 0;
  const unix = from.replace(/^uds:/, "");
  const flood = await Promise.all(
    Array.from({ length: 100 }, () => Bun.connect({ unix, socket: { data() {}, close: () => void closed++ } })),
  );
  await until(() => closed === 36);
  for (const socket of flood) socket.terminate();
  await until(() => closed === 100);
  // It may be heard of the ends only after the next connection.
  for (const deadline = performance.now() + 5_000; !replies.length && performance.now() < deadline; await new Promise(setImmediate))
    await answer(from, { type: "user", from: `uds:${c.socketPath}`, message: { role: "user", content: "yes" } });
  expect(replies[0]).toBe("yes");
});

test("the same text again is made different, and floods end before Claude's own guard", async () => {
  const c = claude();
  const { outcomes, push } = pusher(c.session);
  for (let i = 0; i < 31; i++) push();
  await until(() => c.lines.length === 60 && outcomes.length === 1);
  const contents = c
    .frames()
    .filter((f) => f.type === "user")
    .map((f) => f.message.content);
  expect(contents[0]).not.toBe(contents[1]);
  expect(outcomes[0]?.kind).toBe("failed");
});

const unfit: [string, object][] = [
  ["another conversation is current there", { sessionId: "someone-else" }],
  ["the pid was used again", { procStart: "1" }],
  ["a version without socket", { messagingSocketPath: undefined }],
  ["a run that ends with its answer", { entrypoint: "sdk-cli" }],
  ["a socket that is none", { messagingSocketPath: "/etc/passwd" }],
  ["a relative path", { messagingSocketPath: "1.sock" }],
];
for (const [what, change] of unfit)
  test(`not reached: ${what}`, () => {
    const c = claude(change);
    const { channel, outcomes, push } = pusher(c.session);
    expect(channel.available(c.session)).toBe(false);
    push();
    expect(outcomes.map((o) => o.kind)).toEqual(["failed"]);
    expect(channel.check?.(c.session, c.socketPath)).toContain("no such live session");
  });

const traps: [string, (path: string) => void][] = [
  ["a FIFO", (path) => makeFifo(path)],
  ["a sparse file of 1 GB", (path) => truncateSync(path, 2 ** 30)],
  [
    "a link to elsewhere",
    (path) => {
      renameSync(path, `${path}.real`);
      symlinkSync(`${path}.real`, path);
    },
  ],
  [
    "a folder",
    (path) => {
      rmSync(path);
      mkdirSync(path);
    },
  ],
];
for (const [what, set] of traps)
  test(`${what} as registry entry or key is a failure at once`, () => {
    for (const file of ["registry", "key"] as const) {
      const c = claude();
      const { outcomes, push } = pusher(c.session);
      set(c[file]);
      const began = performance.now();
      push();
      expect(outcomes.map((o) => o.kind)).toEqual(["failed"]);
      expect(performance.now() - began).toBeLessThan(10_000);
    }
  });

function makeFifo(path: string): void {
  rmSync(path);
  expect(Bun.spawnSync(["mkfifo", path]).exitCode).toBe(0);
}

test("a socket that a session names must be its own", () => {
  const c = claude();
  const { channel } = pusher(c.session);
  expect(channel.check?.(c.session, c.socketPath)).toBeNull();
  expect(channel.check?.(c.session, `${c.socketPath}x`)).toContain("not the socket");
});

test("a folder of sockets that others can use gets no listener of ours", async () => {
  const c = claude();
  chmodSync(c.sockets, 0o777);
  const { push } = pusher(c.session);
  push();
  await until(() => c.lines.length === 2);
  expect(c.frames()[1].from).toBe("renn:codex-api");
});

test("a dead socket is a failure", async () => {
  const c = claude();
  c.stop();
  const { outcomes, push } = pusher(c.session);
  push();
  await until(() => outcomes.length === 1);
  expect(outcomes[0]?.kind).toBe("failed");
});
