// What a hook asks of the system, each answered at once. An event loop, timers and threads that read files would cost it more than a millisecond
// (test/bench/notes.md), so it waits in poll(2), as a program in C does, and never longer than its limit.
import { type Call, numberAt, openLibrary } from "../../libc.ts";

/** When a hook ends at the latest, in ms after the start of its process. */
export type Limit = { ms: number };
/** How long this process runs already, in ms; of all clocks the one that costs the least at its first use. */
export const runningMs = (): number => Bun.nanoseconds() / 1e6;

export type Stat = { mode: number; uid: number; size: number };

type Name = "open" | "close" | "poll" | "read" | "pread" | "write" | "socket" | "connect" | "stat";
type Calls = Record<Name, Call> & { errnoAt: number };

const mac = process.platform === "darwin";
/** What differs on macOS. A `stat` of the C library is of no use on Linux: its name and layout hang on versions and processors. */
const own = mac
  ? { errno: "__error", stat: process.arch === "arm64" ? "stat" : "stat$INODE64", nonBlocking: 0x4, closeOnExec: 0x1000000 }
  : { errno: "__errno_location", stat: "syscall", nonBlocking: 0x800, closeOnExec: 0x80000 };
const statx = process.arch === "arm64" ? 291 : 332;
const statxBasic = 0x7ff;
const currentFolder = -100;
const codes: Readonly<Record<number, string>> = {
  1: "EPERM",
  2: "ENOENT",
  13: "EACCES",
  20: "ENOTDIR",
  [mac ? 61 : 111]: "ECONNREFUSED",
};
const [readable, writable] = [1, 4];
const [unix, stream] = [1, 1];
/** PIPE_BUF: what is ready takes so much without making its writer wait. */
const pieceBytes = mac ? 512 : 4096;
/** Nearly all that a hook reads fits into this. */
const roomBytes = 4096;
const fileBytesMax = 2_097_152;

/** A call that failed; `code` is errno by its name, where a hook tells it from others, else its number. */
export class CallError extends Error {
  readonly code: string;
  constructor(name: string, errno: number) {
    super(`${name} failed: ${codes[errno] ?? errno}`);
    this.code = codes[errno] ?? String(errno);
  }
}

let opened: Calls | undefined;

/** The calls themselves. Opened at the first use, so that what goes wrong here is a failure of the hook like any other. */
function libc(): Calls {
  if (opened) return opened;
  const [i32, i64, u64, ptr] = ["i32", "i64", "u64", "ptr"] as const;
  const calls: Record<string, Call> = openLibrary({
    open: { args: [ptr, i32], returns: i32 },
    close: { args: [i32], returns: i32 },
    poll: { args: [ptr, u64, i32], returns: i32 },
    read: { args: [i32, ptr, u64], returns: i32 },
    pread: { args: [i32, ptr, u64, i64], returns: i32 },
    write: { args: [i32, ptr, u64], returns: i32 },
    socket: { args: [i32, i32, i32], returns: i32 },
    connect: { args: [i32, ptr, i32], returns: i32 },
    [own.stat]: { args: mac ? [ptr, ptr] : [i64, i32, ptr, i32, i32, ptr], returns: i32 },
    [own.errno]: { args: [], returns: ptr },
  });
  // Where errno is, is asked before anything can fail: between a failure and the look at it nothing else may be called.
  opened = { ...(calls as Record<Name, Call>), stat: calls[own.stat] as Call, errnoAt: calls[own.errno]?.() as number };
  return opened;
}

/** What a call gave; throws a CallError where that is negative, which none of these calls gives but to say that it failed. */
function checked(name: string, result: number): number {
  if (result < 0 && opened) throw new CallError(name, numberAt(opened.errnoAt));
  return result;
}

/** Waits until `fd` is ready. Throws once the limit is reached. */
function waitFor(fd: number, events: number, limit: Limit): void {
  // struct pollfd { int fd; short events, revents }
  const polled = new Int32Array([fd, events]);
  for (;;) {
    const leftMs = Math.ceil(limit.ms - runningMs());
    if (leftMs <= 0) throw new Error(events === writable ? "what the hook says is not read" : `no answer within ${limit.ms} ms`);
    // A signal may end it early.
    if (libc().poll(polled, 1, leftMs) > 0) return;
  }
}

/** A text as C reads it, behind `before` free bytes. Throws where it would end sooner there. */
function cString(text: string, before = 0): Uint8Array {
  if (text.includes("\0")) throw new Error("a path holds a zero character");
  return new TextEncoder().encode(`${"\0".repeat(before)}${text}\0`);
}

/** Mode, owner and size of a file; links are followed. Throws a CallError. */
export function statFile(path: string): Stat {
  const bytes = new Uint8Array(256);
  const view = new DataView(bytes.buffer);
  if (mac) {
    checked("stat", libc().stat(cString(path), bytes));
    return { mode: view.getUint16(4, true), uid: view.getUint32(16, true), size: Number(view.getBigInt64(96, true)) };
  }
  checked("statx", libc().stat(statx, currentFolder, cString(path), 0, statxBasic, bytes));
  return { mode: view.getUint16(28, true), uid: view.getUint32(20, true), size: Number(view.getBigUint64(40, true)) };
}

/** A small file, or its end from `at` on, as text. Throws where it cannot be read, would have to be waited for, or is long. */
export function readFile(path: string, at?: number): string {
  // A pipe without a writer holds up nobody so.
  const fd = checked("open", libc().open(cString(path), own.nonBlocking | own.closeOnExec));
  try {
    return readAll(fd, fileBytesMax, undefined, at);
  } finally {
    libc().close(fd);
  }
}

/** Everything that comes until `fd` ends, or from `at` on, as text. Throws past `bytesMax`, and at the limit; without one it waits for nothing. */
export function readAll(fd: number, bytesMax: number, limit?: Limit, at?: number): string {
  let bytes = new Uint8Array(roomBytes);
  for (let size = 0; ; ) {
    const got = readSome(fd, bytes.subarray(size), limit, at === undefined ? undefined : at + size);
    if (got === 0) return new TextDecoder().decode(bytes.subarray(0, size));
    size += got;
    if (size > bytesMax) throw new Error("the input is too long");
    if (size < bytes.length) continue;
    const wider = new Uint8Array(4 * size);
    wider.set(bytes);
    bytes = wider;
  }
}

/** Puts what comes next on `fd`, or stands at `at`, into `bytes`: how many there were, 0 at the end. Throws as `readAll` does. */
export function readSome(fd: number, bytes: Uint8Array, limit?: Limit, at?: number): number {
  if (limit) waitFor(fd, readable, limit);
  return checked("read", at === undefined ? libc().read(fd, bytes, bytes.length) : libc().pread(fd, bytes, bytes.length, at));
}

/** Writes all of a text. Throws at the limit. */
export function writeAll(fd: number, text: string, limit: Limit): void {
  for (let rest = new TextEncoder().encode(text); rest.length > 0; ) {
    waitFor(fd, writable, limit);
    rest = rest.subarray(checked("write", libc().write(fd, rest, Math.min(rest.length, pieceBytes))));
  }
}

/** A connection to the Unix socket at `path`, which may not be too long. Throws a CallError, also where the other side has no room for one more. */
export function connectUnix(path: string): number {
  const fd = checked("socket", libc().socket(unix, mac ? stream : stream | own.nonBlocking | own.closeOnExec, 0));
  // struct sockaddr_un begins with the family, on macOS with its own length and the family.
  const address = cString(path, 2);
  address.set(mac ? [address.length, unix] : [unix, 0]);
  try {
    checked("connect", libc().connect(fd, address, address.length));
    return fd;
  } catch (error) {
    libc().close(fd);
    throw error;
  }
}

/** Closes what was opened. */
export function closeFile(fd: number): void {
  libc().close(fd);
}
