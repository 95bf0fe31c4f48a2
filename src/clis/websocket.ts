// JSON messages over a WebSocket on a Unix socket, as far as Codex's control socket needs it: text frames, no extensions. (Bun's own client speaks TCP only.)
import { parseObject } from "./payload.ts";

/** Longest message that is taken from the other side, all its fragments together, in bytes; and the most fragments. */
const messageBytesMax = 1_048_576;
const fragmentsMax = 1000;
/** Longest answer to the upgrade, in bytes. */
const upgradeBytesMax = 65_536;

export type JsonSocket = { send(message: object): void; close(): void };

/**
 * Connects and upgrades; `heard` gets each message, `closed` the end, once. Rejects where the upgrade fails. When `until` is aborted nothing of the
 * connection is left, whatever the other side does.
 */
export async function connectJson(
  path: string,
  heard: (message: unknown) => void,
  closed: () => void,
  until: AbortSignal,
): Promise<JsonSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<JsonSocket>();
  const frames = new FrameReader(heard);
  let unsent: Uint8Array[] = [];
  const socket = await Bun.connect({
    unix: path,
    socket: {
      data(connection, bytes) {
        try {
          if (frames.push(bytes)) resolve({ send, close: () => void socket.end() });
        } catch (error) {
          reject(error);
          connection.terminate();
        }
      },
      drain: flush,
      close() {
        reject(new Error("the connection was closed"));
        closed();
      },
      error: (_, error) => reject(error),
      connectError: (_, error) => reject(error),
    },
  });
  // A server that neither answers nor hangs up would else keep the descriptor for ever.
  until.addEventListener("abort", () => socket.terminate());
  if (until.aborted) socket.terminate();
  function flush(): void {
    const whole = Buffer.concat(unsent);
    const sent = Math.max(0, socket.write(whole));
    unsent = sent < whole.length ? [whole.subarray(sent)] : [];
  }
  function put(bytes: Uint8Array): void {
    unsent.push(bytes);
    flush();
  }
  function send(message: object): void {
    put(textFrame(JSON.stringify(message)));
  }
  const key = Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString("base64");
  const head = ["GET / HTTP/1.1", "Host: localhost", "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"];
  put(Buffer.from(`${[...head, `Sec-WebSocket-Key: ${key}`].join("\r\n")}\r\n\r\n`));
  return promise;
}

/** A client's text frame: masked, as the standard wants it. */
function textFrame(text: string): Uint8Array {
  const body = Buffer.from(text);
  const head = Buffer.alloc(body.length < 126 ? 2 : body.length < 65_536 ? 4 : 10);
  head[0] = 0x81;
  if (head.length === 2) head[1] = 0x80 | body.length;
  else if (head.length === 4) {
    head[1] = 0x80 | 126;
    head.writeUInt16BE(body.length, 2);
  } else {
    head[1] = 0x80 | 127;
    head.writeBigUInt64BE(BigInt(body.length), 2);
  }
  const mask = crypto.getRandomValues(new Uint8Array(4));
  for (let i = 0; i < body.length; i++) body[i] = (body[i] ?? 0) ^ (mask[i & 3] ?? 0);
  return Buffer.concat([head, mask, body]);
}

/**
 * The server's bytes: the answer to the upgrade, then frames. Control frames are passed over; a close ends with the connection itself. What is kept is copied
 * and never more than one message, however the bytes are cut.
 */
class FrameReader {
  private readonly unread = new ByteQueue();
  private open = false;
  private parts: Buffer[] = [];
  private partBytes = 0;
  private readonly heard: (message: unknown) => void;
  constructor(heard: (message: unknown) => void) {
    this.heard = heard;
  }

  /** True once, when the upgrade is done. Throws on a refusal or a message that is too long. */
  push(bytes: Uint8Array): boolean {
    this.unread.add(bytes);
    const opened = !this.open && this.upgrade();
    if (this.open) while (this.frame());
    return opened;
  }

  private upgrade(): boolean {
    const bytes = this.unread.view();
    const end = bytes.indexOf("\r\n\r\n");
    if (end < 0 && bytes.length <= upgradeBytesMax) return false;
    const status = bytes.toString("latin1", 0, Math.min(100, Math.max(0, bytes.indexOf("\r\n"))));
    if (end < 0 || !/^HTTP\/1\.1 101\b/.test(status)) throw new Error(`no WebSocket: ${status}`);
    this.unread.drop(end + 4);
    this.open = true;
    return true;
  }

  /** Takes one frame off the bytes; false when there is no whole one. */
  private frame(): boolean {
    const bytes = this.unread.view();
    if (bytes.length < 2) return false;
    const short = bytes.readUInt8(1) & 127;
    const start = short === 126 ? 4 : short === 127 ? 10 : 2;
    if (bytes.length < start) return false;
    const length = short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short;
    if (length > messageBytesMax) throw new Error("a message is too long");
    if (bytes.length < start + length) return false;
    const first = bytes.readUInt8(0);
    if ((first & 15) <= 2) this.part(bytes.subarray(start, start + length), (first & 128) !== 0);
    this.unread.drop(start + length);
    return true;
  }

  private part(bytes: Buffer, last: boolean): void {
    this.partBytes += bytes.length;
    if (this.partBytes > messageBytesMax || this.parts.length >= fragmentsMax) throw new Error("a message is too long");
    this.parts.push(Buffer.from(bytes));
    if (!last) return;
    const message = parseObject(Buffer.concat(this.parts).toString("utf8"));
    this.parts = [];
    this.partBytes = 0;
    if (message !== null) this.heard(message);
  }
}

/** Bytes that were not used yet, in one piece that grows by doubling: adding is cheap even where they come one by one. */
class ByteQueue {
  private bytes: Buffer = Buffer.alloc(4096);
  private start = 0;
  private end = 0;

  add(more: Uint8Array): void {
    const length = this.end - this.start;
    if (this.end + more.length > this.bytes.length) {
      const roomy = length + more.length > this.bytes.length ? Buffer.alloc(2 * (length + more.length)) : this.bytes;
      this.bytes.copy(roomy, 0, this.start, this.end);
      this.bytes = roomy;
      this.start = 0;
      this.end = length;
    }
    this.bytes.set(more, this.end);
    this.end += more.length;
  }

  /** What is there; valid until the next call. */
  view(): Buffer {
    return this.bytes.subarray(this.start, this.end);
  }

  drop(count: number): void {
    this.start += count;
  }
}
