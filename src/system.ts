// The only room with clock, randomness, environment and /proc. Everything that depends on the machine comes through `System`, so that tests and the
// simulation can replace it.
import { closeSync, constants, fstatSync, openSync, readFileSync, readSync, statSync } from "node:fs";

/** A process and when it started, as `hostStart` names it. */
export type ProcessId = { pid: number; start: string };

/** Where the reading of a transcript stands: the file (inode) and how far (bytes). */
export type TailMark = { inode: number; size: number };
/** What a transcript gained: whole lines (rows over 8 MiB left out) and the new mark; `more` when the tick's share was used up. */
export type TailChunk = { rows: string[]; mark: TailMark; more: boolean };

export type System = {
  /** Unix time in ms; may jump. */
  now(): number;
  /** Milliseconds on a clock that only goes forward; for windows and deadlines. */
  monotonic(): number;
  /** Hex of `bytes` random bytes. */
  randomHex(bytes: number): string;
  /** Which boot of the machine this is; start times of another boot mean nothing. */
  bootId(): string;
  /** Whether there is such a process; cheaper than its start time, and asked at each send. */
  alive(pid: number): boolean;
  /** Start time of a process as `hostStart` has it, or null when there is no such process. */
  processStart(pid: number): string | null;
  /** This process, and the memory that it uses in bytes. */
  self(): { pid: number; memoryBytes: number };
  /** Nothing is to be done for a while: memory that is not needed may go back. */
  rest(): void;
  /** Parent pid, or null. */
  parent(pid: number): number | null;
  /** Size and inode of a transcript now; null when it is missing or no regular file of our user. */
  tailMark(path: string): TailMark | null;
  /** What a transcript gained since `mark` (null = from its start), at most `maxBytes` of it; null when it cannot be read. */
  tail(path: string, mark: TailMark | null, maxBytes: number): TailChunk | null;
};

const rowBytesMax = 8 * 1_048_576;

function readProc(pid: number): { parent: number; start: string } | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The command stands in parentheses and may hold anything, parentheses too: fields count from the last one.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // A zombie has ended; it only waits for its parent to ask how, which may never happen.
    if (fields[0] === "Z" || fields[0] === "X") return null;
    return { parent: Number(fields[1]), start: fields[19] ?? "" };
  } catch {
    return null;
  }
}

function readMac(pid: number): { parent: number; start: string } | null {
  const ps = Bun.spawnSync(["ps", "-o", "ppid=,lstart=", "-p", String(pid)], { env: { LC_ALL: "C", TZ: "UTC" } });
  const match = /^\s*(\d+)\s+(.+?)\s*$/.exec(ps.stdout.toString());
  if (!match) return null;
  return { parent: Number(match[1]), start: String(Math.floor(Date.parse(`${match[2]} UTC`) / 1000)) };
}

const readProcess = process.platform === "darwin" ? readMac : readProc;

function alive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // Only this means that it is gone: another user's process may not be asked.
    return (error as { code?: string }).code !== "ESRCH";
  }
}

/** The chain from `pid` up to init, nearest first, each with its start time. */
export function processTree(system: Pick<System, "parent" | "processStart">, pid: number): ProcessId[] {
  const chain: ProcessId[] = [];
  for (let at: number | null = pid; at && at > 1 && chain.length < 64; at = system.parent(at)) {
    const start = system.processStart(at);
    if (start === null) break;
    chain.push({ pid: at, start });
  }
  return chain;
}

let boot: string | undefined;
function bootId(): string {
  if (boot === undefined)
    try {
      boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    } catch {
      boot = "";
    }
  return boot;
}

function regular(path: string): TailMark | null {
  try {
    const s = statSync(path);
    return s.isFile() && s.uid === process.getuid?.() ? { inode: s.ino, size: s.size } : null;
  } catch {
    return null;
  }
}

/** Reads at most `maxBytes` new bytes; only whole lines count, and the mark ends behind the last of them. */
function tail(path: string, mark: TailMark | null, maxBytes: number): TailChunk | null {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW | constants.O_NOCTTY);
  } catch {
    return null;
  }
  try {
    const s = fstatSync(fd);
    if (!s.isFile() || s.uid !== process.getuid?.()) return null;
    const same = mark !== null && mark.inode === s.ino && mark.size <= s.size;
    return readRows(fd, s.ino, same ? mark.size : 0, s.size, maxBytes);
  } catch {
    return null;
  } finally {
    closeSync(fd);
  }
}

function readRows(fd: number, inode: number, from: number, size: number, maxBytes: number): TailChunk {
  const want = Math.min(size - from, maxBytes);
  const buffer = Buffer.allocUnsafe(Math.max(0, want));
  const got = want > 0 ? readSync(fd, buffer, 0, want, from) : 0;
  const end = buffer.subarray(0, got).lastIndexOf(10) + 1;
  if (end > 0) {
    // Runs of newlines are one end: empty rows say nothing, and a flood of them would cost more than real ones.
    const rows = buffer.toString("utf8", 0, end - 1).split(/\n+/);
    return { rows, mark: { inode, size: from + end }, more: from + end < size && got === maxBytes };
  }
  // No newline in a whole share: a long row. It is looked at again with a larger share up to 8 MiB, then skipped.
  if (got === maxBytes && maxBytes < rowBytesMax) return readRows(fd, inode, from, size, rowBytesMax);
  if (got >= rowBytesMax) return { rows: [], mark: { inode, size: from + got }, more: true };
  return { rows: [], mark: { inode, size: from }, more: false };
}

/** The machine as it is. */
export const realSystem: System = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  randomHex: (bytes) => Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString("hex"),
  bootId,
  self: () => ({ pid: process.pid, memoryBytes: process.memoryUsage.rss() }),
  rest: () => {
    Bun.gc(true);
    Bun.shrink();
  },
  alive,
  processStart: (pid) => readProcess(pid)?.start ?? null,
  parent: (pid) => readProcess(pid)?.parent ?? null,
  tailMark: regular,
  tail,
};
