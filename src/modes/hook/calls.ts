// What a hook asks of the system, each answered at once. An event loop, timers and threads that read files cost half as much as a whole empty program
// (test/bench/notes.md), so a hook waits in poll(2), as a program in C does, and never longer than its limit.
import { FFIType, read as memory, type Pointer } from "bun:ffi";
import { openLibc } from "../../libc.ts";

/** When a hook ends at the latest, in ms after the start of its process. */
export type Limit = { ms: number };
export type Stat = { mode: number; uid: number; size: number };

type Name = "open" | "close" | "poll" | "read" | "pread" | "write" | "socket" | "connect" | "stat" | "errno";
type Calls = Record<Name, (...args: (number | Uint8Array | Int32Array)[]) => number>;

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
  4: "EINTR",
  13: "EACCES",
  20: "ENOTDIR",
  [mac ? 35 : 11]: "EAGAIN",
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

/** Opened at the first call, so that what goes wrong here is a failure of the hook like any other. */
let calls: Calls | undefined;
let errnoAt: Pointer;

function openCalls(): Calls {
  const { i32, i64, u64, ptr } = FFIType;
  const symbols = openLibc({
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
  }) as unknown as Record<string, Calls[Name]>;
  // Where errno is, is asked before anything can fail: between a failure and the look at it nothing else may be called.
  errnoAt = symbols[own.errno]?.() as Pointer;
  return { ...symbols, stat: symbols[own.stat] } as Calls;
}

/** Makes a call that gives no negative number unless it fails, which throws a CallError. */
function call(name: Name, ...args: (number | Uint8Array | Int32Array)[]): number {
  calls ??= openCalls();
  const result = calls[name](...args);
  if (result < 0) throw new CallError(name, memory.i32(errnoAt, 0));
  return result;
}

/** Makes a call once `fd` is ready for it; again where it was interrupted, or found nothing after all. Throws once the limit is reached. */
function callWhenReady(limit: Limit, fd: number, events: number, act: () => number): number {
  // struct pollfd { int fd; short events, revents }
  const polled = new Int32Array([fd, events]);
  for (;;) {
    const leftMs = Math.ceil(limit.ms - performance.now());
    if (leftMs <= 0) throw new Error(`no answer within ${limit.ms} ms`);
    try {
      if (call("poll", polled, 1, leftMs) > 0) return act();
    } catch (error) {
      if (!isPassing(error)) throw error;
    }
  }
}

function isPassing(error: unknown): boolean {
  return error instanceof CallError && (error.code === "EINTR" || error.code === "EAGAIN");
}

/** A text as C reads it, behind `before` free bytes. */
function cString(text: string, before = 0): Uint8Array {
  return new TextEncoder().encode(`${"\0".repeat(before)}${text}\0`);
}

/** Mode, owner and size of a file; links are followed. Throws a CallError. */
export function statFile(path: string): Stat {
  const bytes = new Uint8Array(256);
  const view = new DataView(bytes.buffer);
  if (mac) {
    call("stat", cString(path), bytes);
    return { mode: view.getUint16(4, true), uid: view.getUint32(16, true), size: Number(view.getBigInt64(96, true)) };
  }
  call("stat", statx, currentFolder, cString(path), 0, statxBasic, bytes);
  return { mode: view.getUint16(28, true), uid: view.getUint32(20, true), size: Number(view.getBigUint64(40, true)) };
}

/** Whatever `take` puts into the bytes it is given, until it has nothing more, as text. Throws past `bytesMax`. */
function gather(bytesMax: number, take: (bytes: Uint8Array) => number): string {
  let bytes = new Uint8Array(roomBytes);
  let size = 0;
  for (let got = take(bytes); got > 0; got = take(bytes.subarray(size))) {
    size += got;
    if (size > bytesMax) throw new Error("the input is too long");
    if (size < bytes.length) continue;
    const wider = new Uint8Array(4 * size);
    wider.set(bytes);
    bytes = wider;
  }
  return new TextDecoder().decode(bytes.subarray(0, size));
}

/** Hands `use` a file that is open for reading; a pipe without a writer holds up nobody. */
function withFile<T>(path: string, use: (fd: number) => T): T {
  const fd = call("open", cString(path), own.nonBlocking | own.closeOnExec);
  try {
    return use(fd);
  } finally {
    closeFile(fd);
  }
}

/** A small file as text. Throws where it cannot be read, would have to be waited for, or is long. */
export function readFile(path: string): string {
  return withFile(path, (fd) => gather(fileBytesMax, (bytes) => call("read", fd, bytes, bytes.length)));
}

/** The last bytes of a file as text. Throws as `readFile` does. */
export function readFileEnd(path: string, bytes: number): string {
  let at = Math.max(0, statFile(path).size - bytes);
  return withFile(path, (fd) =>
    gather(fileBytesMax, (room) => {
      const got = call("pread", fd, room, room.length, at);
      at += got;
      return got;
    }),
  );
}

/** Everything that comes until `fd` ends, as text. Throws past `bytesMax`, and at the limit. */
export function readToEnd(fd: number, bytesMax: number, limit: Limit): string {
  return gather(bytesMax, (bytes) => readSome(fd, bytes, limit));
}

/** Puts what comes next on `fd` into `bytes`: how many there were, 0 at the end. Throws at the limit. */
export function readSome(fd: number, bytes: Uint8Array, limit: Limit): number {
  return callWhenReady(limit, fd, readable, () => call("read", fd, bytes, bytes.length));
}

/** Writes all of a text. Throws at the limit. */
export function writeAll(fd: number, text: string, limit: Limit): void {
  let rest: Uint8Array = new TextEncoder().encode(text);
  while (rest.length > 0) {
    const piece = rest;
    rest = piece.subarray(callWhenReady(limit, fd, writable, () => call("write", fd, piece, Math.min(piece.length, pieceBytes))));
  }
}

/** A connection to the Unix socket at `path`, which may not be too long. Throws a CallError, also where the other side has no room for one more. */
export function connectUnix(path: string): number {
  const fd = call("socket", unix, mac ? stream : stream | own.nonBlocking | own.closeOnExec, 0);
  // struct sockaddr_un begins with the family, on macOS with its own length and the family.
  const address = cString(path, 2);
  address.set(mac ? [address.length, unix] : [unix, 0]);
  try {
    call("connect", fd, address, address.length);
    return fd;
  } catch (error) {
    closeFile(fd);
    throw error;
  }
}

/** Closes what was opened. */
export function closeFile(fd: number): void {
  call("close", fd);
}
