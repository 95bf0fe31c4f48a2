// JSON messages over a WebSocket on a Unix socket, as far as Codex's control socket needs it: text frames, no extensions. (Bun's own client speaks TCP only.)

/** Longest message that is taken from the other side, in bytes. */
const messageBytesMax = 16 * 1_048_576;

export type JsonSocket = { send(message: object): void; close(): void };

/** Connects and upgrades; `heard` gets each message, `closed` the end, once. Rejects where the upgrade fails. */
export async function connectJson(path: string, heard: (message: unknown) => void, closed: () => void): Promise<JsonSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<JsonSocket>();
  const frames = new FrameReader(heard);
  let unsent: Uint8Array[] = [];
  const socket = await Bun.connect({
    unix: path,
    socket: {
      data(_, bytes) {
        try {
          if (frames.push(bytes)) resolve({ send, close: () => void socket.end() });
        } catch (error) {
          reject(error);
          socket.end();
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

/** The server's bytes: the answer to the upgrade, then frames. Control frames are passed over; a close ends with the connection itself. */
class FrameReader {
  private buffer: Buffer = Buffer.alloc(0);
  private open = false;
  private parts: Buffer[] = [];
  private readonly heard: (message: unknown) => void;
  constructor(heard: (message: unknown) => void) {
    this.heard = heard;
  }

  /** True once, when the upgrade is done. Throws on a refusal or a message that is too long. */
  push(bytes: Uint8Array): boolean {
    this.buffer = Buffer.concat([this.buffer, bytes]);
    if (this.buffer.length > messageBytesMax) throw new Error("a message is too long");
    const opened = !this.open && this.upgrade();
    if (this.open) while (this.frame());
    return opened;
  }

  private upgrade(): boolean {
    const end = this.buffer.indexOf("\r\n\r\n");
    if (end < 0) return false;
    const status = this.buffer.toString("latin1", 0, this.buffer.indexOf("\r\n"));
    if (!/^HTTP\/1\.1 101\b/.test(status)) throw new Error(`no WebSocket: ${status.slice(0, 100)}`);
    this.buffer = this.buffer.subarray(end + 4);
    this.open = true;
    return true;
  }

  /** Takes one frame off the buffer; false when there is no whole one. */
  private frame(): boolean {
    const { buffer } = this;
    if (buffer.length < 2) return false;
    const short = buffer.readUInt8(1) & 127;
    const start = short === 126 ? 4 : short === 127 ? 10 : 2;
    if (buffer.length < start) return false;
    const length = short === 126 ? buffer.readUInt16BE(2) : short === 127 ? Number(buffer.readBigUInt64BE(2)) : short;
    if (buffer.length < start + length) return false;
    const first = buffer.readUInt8(0);
    if ((first & 15) <= 2) this.part(buffer.subarray(start, start + length), (first & 128) !== 0);
    this.buffer = buffer.subarray(start + length);
    return true;
  }

  private part(bytes: Buffer, last: boolean): void {
    this.parts.push(bytes);
    if (!last) return;
    const text = Buffer.concat(this.parts).toString("utf8");
    this.parts = [];
    let message: unknown;
    try {
      message = JSON.parse(text);
    } catch {
      return;
    }
    this.heard(message);
  }
}
