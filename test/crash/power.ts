// Power loss: what an answer promised is there whatever part of the bytes that were never synced survives.
//
// The model: an answer means that the WAL was synced up to its size at that moment. After that, a power cut may keep any prefix of later bytes, garbage
// behind it, and, while a checkpoint runs, any mixture of old and new pages of the database file.
import type { Database } from "bun:sqlite";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { openStore } from "../../src/broker/store/migrate.ts";
import type { HomePaths } from "../../src/home.ts";
import { join, spawnBroker } from "./broker.ts";

const walHeaderBytes = 32;
const frameHeaderBytes = 24;
const recipients = ["aa", "bb"];
const bodyOf = (n: number) => `message ${n} ${"x".repeat((n * 37) % 3000)}`;

type Promise_ = { messageId: number; n: number; walBytes: number };
export type PowerTally = { cuts: number; mixtures: number; lost: number; faults: string[] };

/** The database file and its WAL at one moment. */
type Disk = { db: Buffer; wal: Buffer };

function readDisk(paths: HomePaths): Disk {
  return { db: readFileSync(paths.database), wal: readFileSync(`${paths.database}-wal`) };
}

/** Sends some messages one after another; after each answer the WAL has been synced up to its size. */
async function sendSome(paths: HomePaths, count: number): Promise<Promise_[]> {
  const client = await join(paths, "sender");
  for (const handle of recipients) (await join(paths, handle)).close();
  const promises: Promise_[] = [];
  for (let n = 0; n < count; n++) {
    const { messageId } = await client.call("send", { threadId: null, to: recipients, body: bodyOf(n) });
    promises.push({ messageId, n, walBytes: statSync(`${paths.database}-wal`).size });
  }
  client.close();
  return promises;
}

/** Opens what survived as a broker would, and names what is missing of `promised`. */
function lookAt(folder: string, disk: Disk, promised: readonly Promise_[], tally: PowerTally, what: string): void {
  const path = `${folder}/renn.db`;
  for (const end of ["", "-wal", "-shm"]) rmSync(path + end, { force: true });
  writeFileSync(path, disk.db, { mode: 0o600 });
  writeFileSync(`${path}-wal`, disk.wal, { mode: 0o600 });
  const { db, moved } = openStore(path, 1);
  try {
    if (moved) tally.faults.push(`${what}: the store was taken for corrupt`);
    const whole = (db.query("PRAGMA quick_check").get() as { quick_check: string }).quick_check;
    if (whole !== "ok") tally.faults.push(`${what}: ${whole}`);
    tally.lost += countMissing(db, promised);
    const half = db.query("SELECT count(*) AS n FROM messages m WHERE (SELECT count(*) FROM deliveries d WHERE d.message_id = m.id) <> ?");
    const { n } = half.get(recipients.length) as { n: number };
    if (n) tally.faults.push(`${what}: ${n} messages without all of their deliveries`);
  } finally {
    db.close();
  }
}

function countMissing(db: Database, promised: readonly Promise_[]): number {
  const body = db.query<{ body: string }, [number]>("SELECT body FROM messages WHERE id = ?");
  return promised.filter(({ messageId, n }) => body.get(messageId)?.body !== bodyOf(n)).length;
}

/** Every frame boundary of a WAL, and as many random places. */
function cutsOf(wal: Buffer, random: () => number): number[] {
  const frameBytes = frameHeaderBytes + wal.readUInt32BE(8);
  const cuts: number[] = [0, walHeaderBytes];
  for (let at = walHeaderBytes + frameBytes; at <= wal.length; at += frameBytes) cuts.push(at, at - 1 - Math.floor(random() * frameBytes));
  return cuts;
}

function garbage(bytes: number, random: () => number): Buffer {
  return Buffer.from(Array.from({ length: bytes }, () => Math.floor(random() * 256)));
}

function cutWal(folder: string, disk: Disk, promises: readonly Promise_[], random: () => number, tally: PowerTally): void {
  for (const cut of cutsOf(disk.wal, random)) {
    const kept = disk.wal.subarray(0, cut);
    const wal = random() < 0.5 ? kept : Buffer.concat([kept, garbage(Math.floor(random() * 9000), random)]);
    lookAt(
      folder,
      { db: disk.db, wal },
      promises.filter((p) => p.walBytes <= cut),
      tally,
      `WAL cut at ${cut} of ${disk.wal.length}`,
    );
    tally.cuts++;
  }
}

/** A checkpoint that the power cut short: each page of the database is the old or the new one, the WAL is still whole. */
function mixPages(
  folder: string,
  before: Disk,
  after: Buffer,
  promises: readonly Promise_[],
  count: number,
  random: () => number,
  tally: PowerTally,
): void {
  const page = 4096;
  for (let n = 0; n < count; n++) {
    const size = random() < 0.5 ? before.db.length : after.length;
    const db = Buffer.alloc(size);
    for (let at = 0; at < size; at += page) (random() < 0.5 || at >= before.db.length ? after : before.db).copy(db, at, at, at + page);
    lookAt(folder, { db, wal: before.wal }, promises, tally, `checkpoint mixture ${n}`);
    tally.mixtures++;
  }
}

/** Sends `count` messages to a broker of `paths`, and reopens everything that a power cut could have left of them. */
export async function powerLoss(paths: HomePaths, count: number, mixtures: number, random: () => number): Promise<PowerTally> {
  const tally: PowerTally = { cuts: 0, mixtures: 0, lost: 0, faults: [] };
  // What survived is looked at hundreds of times: in memory, where there is such a place.
  const folder = mkdtempSync(`${existsSync("/dev/shm") ? "/dev/shm" : tmpdir()}/renn-power-`);
  const child = spawnBroker(paths);
  try {
    const promises = await sendSome(paths, count);
    const before = readDisk(paths);
    child.kill("SIGTERM");
    await child.exited;
    copyFileSync(paths.database, `${folder}/after.db`);
    const after = readFileSync(`${folder}/after.db`);
    cutWal(folder, before, promises, random, tally);
    mixPages(folder, before, after, promises, mixtures, random, tally);
  } finally {
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  }
  return tally;
}
