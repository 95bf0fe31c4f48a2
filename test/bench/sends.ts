// Durable sends a second and their times, beside the floor loop and redis, in turns.
import { unlinkSync } from "node:fs";
import { requestLine } from "../../src/protocol/frames.ts";
import { drive, type Load, type Measured, median, type Traffic } from "./lines.ts";
import { Peer } from "./peer.ts";
import { type Broker, type Scratch, type Server, startBroker } from "./programs.ts";
import { atLeast, atMost, known, ms, type Row, rate } from "./table.ts";

const padding =
  " with as much text as a short message between agents has, which is about two hundred characters: see src/main.ts line 12, and say whether it holds.";
const body = (connection: number, index: number): string => `Message ${connection}.${index}${padding}`;

const loads = {
  single: { connections: 1, depth: 1, total: 600 },
  deep: { connections: 1, depth: 64, total: 12_000 },
  wide: { connections: 64, depth: 16, total: 40_000 },
} satisfies Record<string, Load>;
type LoadName = keyof typeof loads;

/** A server under load, and how to speak to it. */
type Runner = { name: string; socket: string; traffic(load: Load): Promise<Traffic> };

let bodies = 0;

/** Each connection is a peer of its own with a thread of its own; the recipient is away, so what is measured is the send. */
function rennRunner(broker: Broker): Runner {
  return {
    name: "renn",
    socket: broker.socket,
    async traffic(load) {
      const run = ++bodies;
      const threads: number[] = [];
      const recipient = await Peer.connect(broker);
      await recipient.call("register", { clientKind: "adapter", handle: "recipient" });
      for (let connection = 0; connection < load.connections; connection++) {
        const sender = await Peer.connect(broker);
        await sender.call("register", { clientKind: "adapter", handle: `sender-${connection}` });
        threads.push((await sender.call("send", { threadId: null, to: ["recipient"], body: body(connection, -run) })).threadId);
        sender.end();
      }
      recipient.end();
      return {
        opening: (connection) =>
          requestLine(1, "auth", { token: broker.token }) +
          requestLine(2, "register", { clientKind: "adapter", handle: `sender-${connection}` }),
        openingLines: 2,
        request: (connection, index) =>
          `{"v":2,"id":${index + 3},"type":"send","threadId":${threads[connection]},"to":["recipient"],"body":"${run}: ${body(connection, index)}"}\n`,
      };
    },
  };
}

function floorRunner(server: Server): Runner {
  return {
    name: "floor",
    socket: server.socket,
    traffic: async () => ({
      request: (connection, index) =>
        `{"v":2,"id":${index + 3},"type":"send","threadId":${connection + 1},"to":["recipient"],"body":"1: ${body(connection, index)}"}\n`,
    }),
  };
}

function redisRunner(server: Server): Runner {
  const words = (list: string[]): string => `*${list.length}\r\n${list.map((word) => `$${word.length}\r\n${word}\r\n`).join("")}`;
  return {
    name: "redis",
    socket: server.socket,
    traffic: async () => ({
      opening: (connection) => words(["XGROUP", "CREATE", `inbox-${connection}-${++bodies}`, "recipient", "$", "MKSTREAM"]),
      openingLines: 1,
      request: (connection, index) =>
        words(["XADD", `inbox-${connection}`, "*", "from", `sender-${connection}`, "body", body(connection, index)]),
      linesPerAnswer: 2,
    }),
  };
}

/** Starts redis with every write synced before its answer; null where it is not installed. */
async function startRedis(scratch: Scratch): Promise<Server | null> {
  const program = Bun.which("redis-server");
  if (!program) return null;
  const folder = scratch.home("redis");
  const socket = `${folder}/redis.sock`;
  return scratch.start(
    [program, "--port", "0", "--unixsocket", socket, "--dir", folder, "--appendonly", "yes", "--appendfsync", "always", "--save", ""],
    socket,
  );
}

type Results = Record<string, Record<LoadName, Measured[]>>;

async function measure(runners: Runner[], rounds: number): Promise<Results> {
  const results: Results = {};
  for (const { name } of runners) results[name] = { single: [], deep: [], wide: [] };
  for (let round = -1; round < rounds; round++) {
    for (const [name, load] of Object.entries(loads) as [LoadName, Load][]) {
      for (const runner of runners) {
        const measured = await drive(runner.socket, await runner.traffic(load), load);
        if (round >= 0) results[runner.name]?.[name].push(measured);
      }
    }
  }
  return results;
}

/** The floor loop on a store of its own. */
async function startFloor(scratch: Scratch, built: { floor: string }, name: string): Promise<Server> {
  const socket = scratch.path(`${name}.sock`);
  return scratch.start([built.floor, "commit", socket, scratch.path(`${name}.db`)], socket);
}

/** The floor loop once more, for what takes turns with it: `answerMs` sends it `total` lines, one at a time, and gives the p50 of its answers. */
export async function floorBeside(
  scratch: Scratch,
  built: { floor: string },
): Promise<{ answerMs(total: number): Promise<number>; stop(): Promise<unknown> }> {
  const server = await startFloor(scratch, built, "beside");
  const runner = floorRunner(server);
  return {
    answerMs: async (total) => {
      const load = { ...loads.single, total };
      return (await drive(runner.socket, await runner.traffic(load), load)).p50;
    },
    stop: () => server.stop(),
  };
}

/** What the sends took. */
export async function sendRows(scratch: Scratch, built: { floor: string }, rounds: number): Promise<Row[]> {
  const floor = await startFloor(scratch, built, "floor");
  const broker = await startBroker(scratch);
  const redis = await startRedis(scratch);
  const runners = [floorRunner(floor), rennRunner(broker), ...(redis ? [redisRunner(redis)] : [])];
  const results = await measure(runners, rounds);
  for (const server of [floor, broker, redis]) await server?.stop();
  unlinkSync(floor.socket);
  const of = (name: string, load: LoadName, what: keyof Measured): number[] =>
    (results[name]?.[load] ?? []).map((measured) => measured[what]);
  const get = (name: string, load: LoadName, what: keyof Measured): number => median(of(name, load, what));
  // Round by round, since what else the machine does changes from one to the next.
  const ratio = (name: string, against: string, load: LoadName, what: keyof Measured): number =>
    median(of(name, load, what).map((value, round) => value / (of(against, load, what)[round] ?? Number.NaN)));
  const rows: Row[] = [];
  for (const [what, max] of [
    ["p50", 1.5],
    ["p99", 3],
  ] as const)
    rows.push(
      atMost(
        `send answered, one at a time, ${what}`,
        ms(get("renn", "single", what)),
        `floor loop ${ms(get("floor", "single", what))}`,
        ratio("renn", "floor", "single", what),
        max,
      ),
    );
  const names = {
    wide: "durable sends, 64 connections × 16 in flight",
    deep: "durable sends, 1 connection × 64 in flight",
    single: "durable sends, one at a time",
  };
  for (const [load, what] of Object.entries(names) as [LoadName, string][]) {
    const each = (name: string): string => rate(get(name, load, "perSecond"));
    const share = (name: string, against: string): number => ratio(name, against, load, "perSecond");
    if (load !== "single") rows.push(atLeast(what, each("renn"), `floor loop ${each("floor")}`, share("renn", "floor"), 0.7));
    if (!redis) continue;
    rows.push(atLeast(what, each("renn"), `redis, fsync always ${each("redis")}`, share("renn", "redis"), load === "single" ? 1 : 0.7));
    rows.push(known(`the floor loop itself: ${what}`, each("floor"), `redis, fsync always ${each("redis")}`, share("floor", "redis")));
  }
  return rows;
}
