// A raw client on a real socket: writes bytes as a test says, reads lines when they come.
import type { Socket } from "bun";
import type { ServerFrame } from "../../src/protocol/frames.ts";
import { LineSplitter } from "../../src/wire.ts";

const deadlineMs = 10_000;

/** One connection. */
export class RawClient {
  readonly frames: ServerFrame[] = [];
  closed = false;
  private socket!: Socket<undefined>;
  private readonly splitter = new LineSplitter(64 * 1_048_576);
  private readonly waiting = new Set<() => void>();
  private unsent: Uint8Array[] = [];

  static async connect(path: string): Promise<RawClient> {
    const client = new RawClient();
    client.socket = await Bun.connect<undefined>({
      unix: path,
      allowHalfOpen: true,
      socket: {
        data: (_, bytes) => client.received(bytes),
        drain: () => client.flush(),
        end: () => client.gone(),
        close: () => client.gone(),
        error: () => client.gone(),
      },
    });
    return client;
  }

  private received(bytes: Uint8Array): void {
    this.splitter.push(bytes, (line) => {
      if (line !== "too-long") this.frames.push(JSON.parse(new TextDecoder().decode(line)) as ServerFrame);
    });
    for (const look of this.waiting) look();
  }

  private gone(): void {
    this.closed = true;
    for (const look of this.waiting) look();
  }

  /** Writes text or bytes; what the socket does not take now follows when it does. */
  write(data: string | Uint8Array): void {
    this.unsent.push(typeof data === "string" ? new TextEncoder().encode(data) : data);
    this.flush();
  }
  private flush(): void {
    for (let head = this.unsent[0]; head; head = this.unsent[0]) {
      const written = this.socket.write(head);
      if (written < head.length) {
        this.unsent[0] = head.subarray(Math.max(0, written));
        return;
      }
      this.unsent.shift();
    }
  }
  /** Writes one request as a line. */
  request(id: number, type: string, fields: object = {}): void {
    this.write(`${JSON.stringify({ v: 2, id, type, ...fields })}\n`);
  }
  /** Ends the writing half. */
  halfClose(): void {
    this.socket.shutdown();
  }
  close(): void {
    this.socket.terminate();
  }
  pause(): void {
    this.socket.pause();
  }
  resume(): void {
    this.socket.resume();
  }

  /** Resolves when `met` holds; it is looked at whenever something came. */
  async until(met: () => boolean, what: string): Promise<void> {
    if (met()) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const look = () => met() && resolve();
    const timer = setTimeout(
      () => reject(new Error(`${what} did not come; there is ${JSON.stringify(this.frames).slice(0, 500)}`)),
      deadlineMs,
    );
    this.waiting.add(look);
    await promise.finally(() => {
      clearTimeout(timer);
      this.waiting.delete(look);
    });
  }
  /** The next `count` frames, taken. */
  async take(count: number): Promise<ServerFrame[]> {
    await this.until(() => this.frames.length >= count, `${count} frames`);
    return this.frames.splice(0, count);
  }
  /** The broker has ended the connection. */
  async ended(): Promise<void> {
    await this.until(() => this.closed, "the end");
  }
}
