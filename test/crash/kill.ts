// kill -9 under load: after each round every answered message is there once, whole and for each recipient, and what was confirmed stays confirmed.
import type { Client } from "../../src/client.ts";
import type { HomePaths } from "../../src/home.ts";
import { ProtocolError } from "../../src/protocol/errors.ts";
import { exportAll, integrity, join, spawnBroker } from "./broker.ts";

const senders = 4;
const inFlight = 16;
const recipients = ["adapter", "reader", "away"];

/** What the clients of a round know: what was answered, what was asked and not answered, what was confirmed. */
type Known = {
  answered: Map<string, number>;
  asked: Set<string>;
  confirmed: Set<number>;
  acked: Set<number>;
};
export type Tally = {
  rounds: number;
  answered: number;
  unanswered: number;
  confirmed: number;
  lost: number;
  doubled: number;
  faults: string[];
};

const bodyOf = (key: string) => `${key} ${"§".repeat(Number(key.split(".").at(-1)) % 700)}`;

/** A request whose connection went down with the broker is no fault; any other refusal is. */
function unlessDown(error: unknown): void {
  if (!(error instanceof ProtocolError) || !["broker_closed", "timeout"].includes(error.code)) throw error;
}

async function sendLoop(client: Client, name: string, known: Known): Promise<void> {
  let n = 0;
  const one = async () => {
    while (client.open) {
      const key = `${name}.${n++}`;
      known.asked.add(key);
      const result = await client.call("send", { threadId: null, to: recipients, body: bodyOf(key), key });
      known.answered.set(key, result.messageId);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, () => one().catch(unlessDown)));
}

/** A listener that confirms each push, and a reader that acknowledges; what the broker answered counts. */
async function confirmers(paths: HomePaths, known: Known): Promise<Client[]> {
  let adapter: Client | null = null;
  const early: number[] = [];
  const confirm = async (id: number) => {
    if (!adapter) return void early.push(id);
    await adapter.call("delivered", { ids: [id] });
    known.confirmed.add(id);
  };
  adapter = await join(paths, "adapter", {
    listen: true,
    onEvent: (event) => void (event.event === "push" && confirm(event.payload.message.id).catch(unlessDown)),
  });
  for (const id of early) void confirm(id).catch(unlessDown);
  const reader = await join(paths, "reader");
  const readOn = async () => {
    while (reader.open) {
      const { messages } = await reader.call("fetch-push", { handle: "reader", limit: 10 });
      if (!messages.length) {
        await Bun.sleep(1);
        continue;
      }
      const ids = messages.map((m) => m.id);
      await reader.call("ack", { ids });
      for (const id of ids) known.acked.add(id);
    }
  };
  void readOn().catch(unlessDown);
  return [adapter, reader];
}

async function round(paths: HomePaths, n: number, killAfterMs: number): Promise<Known> {
  const known: Known = { answered: new Map(), asked: new Set(), confirmed: new Set(), acked: new Set() };
  const child = spawnBroker(paths);
  try {
    const away = await join(paths, "away");
    const clients = [away, ...(await confirmers(paths, known))];
    const sending: Promise<void>[] = [];
    for (let i = 0; i < senders; i++) {
      const client = await join(paths, `sender-${i}`);
      clients.push(client);
      sending.push(sendLoop(client, `r${n}.s${i}`, known));
    }
    await Bun.sleep(killAfterMs);
    child.kill("SIGKILL");
    await child.exited;
    await Promise.all(sending);
    for (const client of clients) client.close();
  } finally {
    child.kill("SIGKILL");
  }
  return known;
}

const stateRank = ["queued", "sent", "delivered", "acknowledged", "replied"];

/** Compares what the clients were told with what the store holds now; what was never answered is sent again with its key. */
async function compare(paths: HomePaths, known: Known, sinceId: number, tally: Tally): Promise<number> {
  const client = await join(paths, "auditor");
  const again = await Promise.all(
    [...known.asked]
      .filter((key) => !known.answered.has(key))
      .map(async (key) => {
        const sender = await join(paths, `sender-${key.split(".")[1]?.slice(1)}`);
        const { messageId } = await sender.call("send", { threadId: null, to: recipients, body: bodyOf(key), key });
        sender.close();
        return [key, messageId] as const;
      }),
  );
  const rows = await exportAll(client, Math.min(sinceId, ...[...known.confirmed, ...known.acked].map((id) => id - 1)));
  client.close();
  const byId = new Map(rows.map((row) => [row.id, row]));
  const copies = new Map<string, number>();
  for (const row of rows) copies.set(row.firstLine.split(" ")[0] ?? "", (copies.get(row.firstLine.split(" ")[0] ?? "") ?? 0) + 1);
  for (const [key, id] of [...known.answered, ...again]) {
    const row = byId.get(id);
    const whole = row?.body === bodyOf(key) && recipients.every((r) => row.deliveries.filter((d) => d.handle === r).length === 1);
    if (!whole) tally.lost++;
    if ((copies.get(key) ?? 0) > 1) tally.doubled++;
  }
  const stateOf = (id: number, handle: string) =>
    stateRank.indexOf(byId.get(id)?.deliveries.find((d) => d.handle === handle)?.state ?? "queued");
  for (const id of known.confirmed)
    if (stateOf(id, "adapter") < 2) tally.faults.push(`message ${id} was confirmed and is no longer delivered`);
  for (const id of known.acked) if (stateOf(id, "reader") < 3) tally.faults.push(`message ${id} was acknowledged and is no longer so`);
  tally.answered += known.answered.size;
  tally.unanswered += again.length;
  tally.confirmed += known.confirmed.size + known.acked.size;
  return rows.at(-1)?.id ?? sinceId;
}

/** Kills a broker `rounds` times at a random moment of its load and looks each time at what is left. `random` gives [0, 1). */
export async function killRounds(paths: HomePaths, rounds: number, random: () => number): Promise<Tally> {
  const tally: Tally = { rounds: 0, answered: 0, unanswered: 0, confirmed: 0, lost: 0, doubled: 0, faults: [] };
  let lastId = 0;
  for (let n = 0; n < rounds; n++) {
    const known = await round(paths, n, 20 + random() * 400);
    const child = spawnBroker(paths);
    try {
      lastId = await compare(paths, known, lastId, tally);
    } catch (error) {
      throw child.exitCode === null
        ? error
        : new Error(`round ${n}: the broker ended with ${child.exitCode}: ${await child.stderr.text()}`);
    } finally {
      child.kill("SIGTERM");
      await child.exited;
    }
    const state = integrity(paths.database);
    if (state !== "ok") tally.faults.push(`round ${n}: ${state}`);
    tally.rounds++;
  }
  return tally;
}
