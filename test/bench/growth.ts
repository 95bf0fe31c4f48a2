// The same requests on a small store and on a large one, in turns; and how long a broker takes to answer on each, and what memory it holds.

import { requestLine } from "../../src/protocol/frames.ts";
import { fill, type Size } from "./fill.ts";
import { drive, type Load, median, type Traffic } from "./lines.ts";
import { Peer } from "./peer.ts";
import { type Broker, benchHome, memory, type Scratch, startBroker } from "./programs.ts";
import { atMost, mib, ms, type Row, within } from "./table.ts";

const small: Size = { messages: 1000, peers: 10, threads: 100 };
const large: Size = { messages: 1_000_000, peers: 10_000, threads: 100_000 };
const load: Load = { connections: 1, depth: 1, total: 300 };

/** What is asked: as `peer-5` of either store, about its own thread. */
const requests = {
  send: (index: number) => ({ threadId: 3, to: ["peer-6"], body: `On and on, ${index}, ${performance.now()}.`, mode: "silent" }),
  reply: (index: number) => ({ messageId: 3, body: `An answer, ${index}, ${performance.now()}.` }),
  inbox: () => ({ unreadOnly: false }),
  thread: () => ({ threadId: 4, sinceSeq: null, full: false }),
  hook: () => ({ event: "prompt", client: "opencode" }),
  status: () => ({ live: true }),
} as const;
type Name = keyof typeof requests;

async function traffic(broker: Broker, name: Name): Promise<Traffic> {
  return {
    opening: () =>
      requestLine(1, "auth", { token: broker.token }) +
      requestLine(2, "register", { clientKind: "adapter", handle: "peer-5", client: "opencode" }),
    openingLines: 2,
    request: (_connection, index) => requestLine(index + 3, name, requests[name](index)),
  };
}

async function starts(scratch: Scratch, homes: readonly string[], rounds: number): Promise<number[]> {
  const times = homes.map((): number[] => []);
  for (let round = 0; round < rounds; round++)
    for (const [at, home] of homes.entries()) {
      const broker = await startBroker(scratch, home);
      times[at]?.push(broker.startMs);
      await broker.stop();
    }
  return times.map(median);
}

async function compare(brokers: readonly [Broker, Broker], rounds: number): Promise<Row[]> {
  const rows: Row[] = [];
  for (const name of Object.keys(requests) as Name[]) {
    const times: [number[], number[]] = [[], []];
    for (let round = -1; round < rounds; round++)
      for (const [at, broker] of brokers.entries()) {
        const { p50 } = await drive(broker.socket, await traffic(broker, name), load);
        if (round >= 0) times[at]?.push(p50);
      }
    const [few, many] = [median(times[0]), median(times[1])];
    rows.push(atMost(`${name} with 1,000,000 messages, p50`, ms(many), `with 1,000 ${ms(few)}`, many / few, 1.2));
  }
  return rows;
}

/** Growth of times, of the start and of memory with the store. `idleMib` is the memory of an idle broker on an empty store. */
export async function growthRows(scratch: Scratch, rounds: number, idleMib: number): Promise<Row[]> {
  const homes = [benchHome(scratch), benchHome(scratch), benchHome(scratch)] as const;
  fill(homes[1], small);
  fill(homes[2], large);
  const [emptyStart, largeStart] = await starts(scratch, [homes[0], homes[2]], rounds * 2);
  const brokers = [await startBroker(scratch, homes[1]), await startBroker(scratch, homes[2])] as const;
  const rows = await compare(brokers, rounds);
  const sender = await Peer.connect(brokers[1]);
  await sender.call("register", { clientKind: "adapter", handle: "peer-5" });
  const grown = memory(brokers[1].pid).resident;
  for (const broker of brokers) await broker.stop();
  const [start, base] = [largeStart ?? Number.NaN, emptyStart ?? Number.NaN];
  return [
    ...rows,
    atMost("start of the broker with 1,000,000 messages, until it answers", ms(start), `empty store ${ms(base)}`, start / base, 1.5),
    within("the same, in all", ms(start), start, 300, "≤ 300 ms"),
    within("memory with 1,000,000 messages, after load, above idle", mib(grown - idleMib), grown - idleMib, 60, "≤ 60 MiB"),
  ];
}
