// A connection as arrays: what the broker wrote stands in `frames` until the test has taken it.
import type { Broker } from "../../src/broker/broker.ts";
import type { Conn } from "../../src/broker/bus.ts";
import { type ErrorData, ProtocolError } from "../../src/protocol/errors.ts";
import { type ErrorFrame, type EventFrame, type OkFrame, requestLine, type ServerFrame } from "../../src/protocol/frames.ts";
import type { Fields, RequestType, Result } from "../../src/protocol/schemas.ts";

/** One connection of a test. */
export class TestConnection {
  /** Frames that the test has not taken yet, oldest first. */
  frames: ServerFrame[] = [];
  /** Every line that came, as text. */
  readonly lines: string[] = [];
  /** The broker has ended it. */
  ended = false;
  /** Nobody reads on the other side: what is written stays pending. */
  slow = false;
  readonly conn: Conn;
  private readonly settle: () => void;
  private readonly broker: Broker;
  private unread: { bytes: number; taken: (() => void) | undefined }[] = [];
  private nextId = 1;

  constructor(broker: Broker, settle: () => void, pid: number | null) {
    this.broker = broker;
    this.settle = settle;
    this.conn = broker.open({
      pid,
      write: (line, taken) => this.written(line, taken),
      end: () => {
        this.ended = true;
      },
      drop: () => {
        this.ended = true;
        this.slow = false;
      },
      pending: () => this.unread.reduce((sum, u) => sum + u.bytes, 0),
    });
  }

  private written(line: string, taken: (() => void) | undefined): void {
    if (!line.endsWith("\n") || line.indexOf("\n") !== line.length - 1) throw new Error(`not one line: ${line}`);
    this.lines.push(line);
    this.frames.push(JSON.parse(line) as ServerFrame);
    if (this.slow) this.unread.push({ bytes: line.length, taken });
    else taken?.();
  }

  /** The other side reads again: all that was pending has left. */
  drain(): void {
    this.slow = false;
    for (const { taken } of this.unread.splice(0)) taken?.();
    this.settle();
  }

  /** Sends a line as it is, without its newline. */
  raw(line: string | Uint8Array | "too-long"): void {
    this.broker.line(this.conn, line === "too-long" ? line : typeof line === "string" ? new TextEncoder().encode(line) : line);
    this.settle();
  }

  /** Queues a request without letting the broker run; several make one turn. */
  post(type: string, fields: object = {}): number {
    const id = this.nextId++;
    this.broker.line(this.conn, new TextEncoder().encode(requestLine(id, type, fields).trimEnd()));
    return id;
  }

  /** Sends a request and does not look at the answer. Its id. */
  request(type: string, fields: object = {}): number {
    const id = this.post(type, fields);
    this.settle();
    return id;
  }

  /** Takes the answer to a request out of `frames`. */
  answer(id: number): OkFrame | ErrorFrame {
    const at = this.frames.findIndex((f) => "id" in f && f.id === id);
    const [frame] = at < 0 ? [] : this.frames.splice(at, 1);
    if (!frame) throw new Error(`no answer to request ${id}; there is ${JSON.stringify(this.frames)}`);
    return frame as OkFrame | ErrorFrame;
  }

  /** Sends a request and gives its result; throws the ProtocolError that came instead. */
  call<T extends RequestType>(type: T, fields?: Fields<T> | object): Result<T> {
    const frame = this.answer(this.request(type, fields));
    if (frame.ok) return frame.result as Result<T>;
    const { code, message, ...data } = frame.error;
    throw new ProtocolError(code, message, data);
  }

  /** Sends a request that must be refused, and gives the error. */
  refused(type: string, fields?: object): { code: string; message: string } & ErrorData {
    const frame = this.answer(this.request(type, fields));
    if (frame.ok) throw new Error(`${type} was not refused: ${JSON.stringify(frame.result)}`);
    return frame.error;
  }

  /** Takes the events that have come, of one kind or of all. */
  events(kind?: string): EventFrame[] {
    const taken = this.frames.filter((f): f is EventFrame => "event" in f && (!kind || f.event === kind));
    this.frames = this.frames.filter((f) => !taken.includes(f as EventFrame));
    return taken;
  }

  /** Ids of the messages that were pushed and not taken yet. */
  pushed(): number[] {
    return this.events("push").map((e) => (e.payload as { message: { id: number } }).message.id);
  }

  /** The other side is gone. */
  close(): void {
    this.broker.close(this.conn);
    this.settle();
  }
}
