// A day's work in minutes: `bun run soak [--minutes 10] [--sessions 200]`. Sessions with processes and transcripts of their own talk at a realistic pace
// while the broker is restarted, politely and not. Every ten seconds it is measured; what grows beyond its bound, or is lost, ends it with status 1.
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import type { Subprocess } from "bun";
import { Client } from "../../src/client.ts";
import type { HomePaths } from "../../src/home.ts";
import { ProtocolError } from "../../src/protocol/errors.ts";
import { tagIds } from "../../src/protocol/tag.ts";
import { realSystem } from "../../src/system.ts";
import { exportAll, integrity, join, makeHome, numberOption, spawnBroker } from "../crash/broker.ts";
import { random } from "../sim/random.ts";

const minutes = numberOption("minutes", 10);
const count = numberOption("sessions", 200);
const chance = random(numberOption("seed", 1));
const restartEveryMs = 45_000;
const measureEveryMs = 10_000;
const bounds = { memoryBytes: 200 * 1_048_576, walBytes: 8 * 1_048_576, logBytes: 20 * 1_048_576, descriptorsBeyondConnections: 64 };

type Session = { handle: string; client: "claude" | "zcode"; id: string; host: Subprocess; transcript: string; received: number[] };
type Sample = {
  second: number;
  memoryBytes: number;
  descriptors: number;
  connections: number;
  walBytes: number;
  logBytes: number;
  messages: number;
};

const home = makeHome();
const end = performance.now() + minutes * 60_000;
const running = () => performance.now() < end;
const answered = new Map<number, { body: string; to: string }>();
const samples: Sample[] = [];
const tally = { events: 0, texts: 0, replies: 0, waits: 0, refused: 0, again: 0, restarts: 0, kills: 0 };
let broker = spawnBroker(home);

/** What a restart does to a request is no fault: it is asked again, with its key where it stores something. */
async function asking<T>(step: () => Promise<T>): Promise<T | null> {
  for (let tries = 0; tries < 200; tries++)
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      if (!["broker_down", "broker_closed", "timeout"].includes(error.code)) {
        tally.refused++;
        return null;
      }
      tally.again++;
      await Bun.sleep(50 + chance() * 100);
    }
  throw new Error("the broker was away for too long");
}

async function connected<T>(step: (client: Client) => Promise<T>, onEvent?: (ids: number[], client: Client) => void): Promise<T> {
  const client: Client = await Client.connect({
    paths: home,
    onEvent: (event) => event.event === "push" && onEvent?.([event.payload.message.id], client),
  });
  try {
    return await step(client);
  } finally {
    client.close();
  }
}

/** One run of a session's hook; what it was given stands in its transcript a moment later. */
async function hookRun(s: Session, event: "session-start" | "prompt" | "stop"): Promise<void> {
  tally.events++;
  const texts = await asking(() =>
    connected(async (client) => {
      const host = { hostPid: s.host.pid, hostStart: realSystem.processStart(s.host.pid) ?? "gone" };
      const session = { event, client: s.client, cliSessionId: s.id, host, transcriptPath: s.transcript, handle: s.handle };
      await client.call("session", session);
      const payload = await client.call("hook", { event, client: s.client });
      return event === "stop" && !payload.block ? [] : payload.texts;
    }),
  );
  for (const text of texts ?? []) {
    tally.texts++;
    s.received.push(...tagIds(text).slice(0, 1));
    if (s.client === "claude") {
      const row = { type: "attachment", attachment: { type: "hook_additional_context", content: [text] } };
      appendFileSync(s.transcript, `${JSON.stringify(row)}\n`);
    }
  }
}

let bodies = 0;

async function talk(s: Session, handles: readonly string[]): Promise<void> {
  const key = `${s.handle}-${++bodies}`;
  const body = `${key} ${"words ".repeat(Math.floor(chance() * 200))}`;
  const answering = s.received.shift();
  await asking(() =>
    connected(async (client) => {
      await client.call("register", { handle: s.handle, clientKind: "mcp" });
      if (answering !== undefined && chance() < 0.7) {
        await client.call("reply", { messageId: answering, body, verdict: "agree", key });
        tally.replies++;
        return;
      }
      const to = handles[Math.floor(chance() * handles.length)] as string;
      if (to === s.handle) return;
      const { messageId, threadId } = await client.call("send", { threadId: null, to: [to], body, key });
      answered.set(messageId, { body, to });
      if (chance() > 0.1) return;
      tally.waits++;
      await client.call("wait", { threadId, until: "all_replied", timeoutMs: 5_000, early: true }, { timeoutMs: 8_000 });
    }),
  );
}

async function live(s: Session, handles: readonly string[]): Promise<void> {
  await Bun.sleep(chance() * 5_000);
  await hookRun(s, "session-start");
  while (running()) {
    await Bun.sleep(1_000 + chance() * 14_000);
    await hookRun(s, "prompt");
    if (chance() < 0.6) await talk(s, handles);
    await hookRun(s, "stop");
  }
}

/** Stops or kills the broker now and then, and starts the next one. */
async function restartNowAndThen(): Promise<void> {
  while (running()) {
    await Bun.sleep(Math.min(restartEveryMs * (0.5 + chance()), end - performance.now()));
    const hard = chance() < 0.5;
    hard ? tally.kills++ : tally.restarts++;
    broker.kill(hard ? "SIGKILL" : "SIGTERM");
    await broker.exited;
    broker = spawnBroker(home);
  }
}

const size = (path: string) => (existsSync(path) ? statSync(path).size : 0);

async function measure(): Promise<void> {
  const stats = await asking(() => connected((client) => client.call("stats", {})));
  if (!stats) return;
  const descriptors = existsSync(`/proc/${stats.pid}/fd`) ? readdirSync(`/proc/${stats.pid}/fd`).length : 0;
  const resident = existsSync(`/proc/${stats.pid}/statm`)
    ? Number(readFileSync(`/proc/${stats.pid}/statm`, "utf8").split(" ")[1]) * 4_096
    : stats.memoryBytes;
  samples.push({
    second: Math.round((performance.now() - end) / 1000 + minutes * 60),
    memoryBytes: resident,
    descriptors,
    connections: stats.connections,
    walBytes: size(`${home.database}-wal`),
    logBytes: size(home.log),
    messages: stats.messages,
  });
}

async function measureNowAndThen(): Promise<void> {
  while (running()) {
    await Bun.sleep(measureEveryMs);
    await measure();
  }
}

/** Everybody takes what is left for them; then each answered message must be there, whole, and seen. */
async function settleUp(sessions: readonly Session[], paths: HomePaths): Promise<{ lost: number; unseen: number }> {
  for (let before = -1; before !== tally.texts; ) {
    before = tally.texts;
    // The second run also proves what the first was given.
    for (const s of [...sessions, ...sessions]) await hookRun(s, "prompt");
  }
  const client = await join(paths, "auditor");
  const rows = new Map((await exportAll(client)).map((row) => [row.id, row]));
  client.close();
  let lost = 0;
  let unseen = 0;
  for (const [id, { body, to }] of answered) {
    const delivery = rows.get(id)?.deliveries.find((d) => d.handle === to);
    if (rows.get(id)?.body !== body || !delivery) lost++;
    else if (delivery.state === "queued" || delivery.state === "sent") unseen++;
  }
  return { lost, unseen };
}

function overBounds(): string[] {
  const most = (of: (s: Sample) => number) => Math.max(0, ...samples.map(of));
  const faults: string[] = [];
  if (most((s) => s.memoryBytes) > bounds.memoryBytes) faults.push("memory");
  if (most((s) => s.walBytes) > bounds.walBytes) faults.push("WAL");
  if (most((s) => s.logBytes) > bounds.logBytes) faults.push("log");
  if (most((s) => s.descriptors - s.connections) > bounds.descriptorsBeyondConnections) faults.push("descriptors");
  return faults;
}

const folder = `${home.home}/transcripts`;
mkdirSync(folder, { mode: 0o700 });
const sessions: Session[] = Array.from({ length: count }, (_, n) => ({
  handle: `session-${n}`,
  client: n % 2 ? "claude" : "zcode",
  id: `id-${n}`,
  host: Bun.spawn(["sleep", String(minutes * 60 + 600)], { stdio: ["ignore", "ignore", "ignore"] }),
  transcript: `${folder}/${n}.jsonl`,
  received: [],
}));
try {
  const handles = sessions.map((s) => s.handle);
  await Promise.all([...sessions.map((s) => live(s, handles)), restartNowAndThen(), measureNowAndThen()]);
  await measure();
  const { lost, unseen } = await settleUp(sessions, home);
  const mega = (bytes: number) => `${(bytes / 1_048_576).toFixed(1)} MiB`;
  for (const s of samples.filter((_, n) => n % 6 === 0 || n === samples.length - 1))
    console.log(
      `${s.second} s: ${s.messages} messages, memory ${mega(s.memoryBytes)}, WAL ${mega(s.walBytes)}, log ${mega(s.logBytes)}, ${s.descriptors} descriptors, ${s.connections} connections`,
    );
  broker.kill("SIGTERM");
  await broker.exited;
  const faults = [...overBounds(), ...(integrity(home.database) === "ok" ? [] : ["integrity"])];
  console.log(JSON.stringify(tally));
  console.log(
    `${minutes} minutes, ${count} sessions, ${answered.size} asks answered; lost: ${lost}, unseen: ${unseen}, over their bounds: ${faults.join(", ") || "nothing"}`,
  );
  process.exitCode = lost || unseen || faults.length ? 1 : 0;
} finally {
  for (const s of sessions) s.host.kill();
  broker.kill("SIGKILL");
  home.remove();
}
