// The client of the bus that every mode but the hooks uses: typed requests over one connection, pipelined, matched by id.
import { openConnection, type Wire } from "./client/wire.ts";
import { type HomePaths, homePaths } from "./home.ts";
import { answerBytesMax, lineBytesMax } from "./protocol/constants.ts";
import { ProtocolError } from "./protocol/errors.ts";
import { type ErrorFrame, requestLine, type ServerFrame } from "./protocol/frames.ts";
import type { Fields, Notification, PushPayload, RequestType, Result, WatchPayload } from "./protocol/schemas.ts";
import { LineSplitter, type SplitLine } from "./wire.ts";

/** What comes without a request: pushes and notifications where the connection listens, watch events where it watches. */
export type ClientEvent =
  | { event: "push"; payload: PushPayload }
  | { event: "notification"; payload: Notification[] }
  | { event: "watch"; payload: WatchPayload };

export type ClientOptions = {
  /** The home; by default the environment's. */
  paths?: HomePaths;
  /** Start the broker where none answers (never in a sandbox). Default false. */
  start?: boolean;
  /** How long a request may take, in ms; `call` can say otherwise. Default 10,000. A wait gets its own time on top. */
  timeoutMs?: number;
  onEvent?: (event: ClientEvent) => void;
  /** Called once when the connection is gone, also after `close`. */
  onClose?: () => void;
};

type Pending = { resolve: (result: never) => void; reject: (error: Error) => void; timer: ReturnType<typeof setTimeout> };

const timeoutMsDefault = 10_000;
const authId = 1;
// An answer stops soon after 4 MiB of JSON; one last message may be a whole client line, escaped at its worst.
const brokerLineBytesMax = answerBytesMax + 8 * lineBytesMax;

/** One authenticated connection to the broker. Errors of `connect` and `call` are ProtocolErrors. */
export class Client {
  private readonly pending = new Map<number, Pending>();
  private readonly options: ClientOptions;
  private readonly splitter = new LineSplitter(brokerLineBytesMax);
  private readonly decoder = new TextDecoder();
  private wire: Wire | null = null;
  private nextId = authId;
  private ended: ProtocolError | null = null;

  private constructor(options: ClientOptions) {
    this.options = options;
  }

  /**
   * Connects to the home's broker and authenticates; the auth line travels with the first request.
   * Throws `broker_down`: no broker answers, a sandbox forbids it, or the home is not ours alone.
   */
  static async connect(options: ClientOptions = {}): Promise<Client> {
    const client = new Client(options);
    const { wire, token } = await openConnection(options.paths ?? homePaths(), options.start === true, {
      data: (bytes) => client.splitter.push(bytes, (line) => client.line(line)),
      close: () => client.end(new ProtocolError("broker_closed", "the broker closed the connection")),
    });
    client.wire = wire;
    client.call("auth", { token }).catch((error: ProtocolError) => client.end(error));
    return client;
  }

  /** Whether requests can still be sent. */
  get open(): boolean {
    return this.ended === null;
  }

  /** Sends a request and gives its result; throws the broker's refusal, `timeout`, or `broker_closed` when the connection ends first. */
  call<T extends RequestType>(type: T, fields: Fields<T>, options: { timeoutMs?: number } = {}): Promise<Result<T>> {
    if (this.ended) return Promise.reject(this.ended);
    const id = this.nextId++;
    const own = options.timeoutMs ?? this.options.timeoutMs ?? timeoutMsDefault;
    const { promise, resolve, reject } = Promise.withResolvers<Result<T>>();
    const line = requestLine(id, type, fields);
    if (Buffer.byteLength(line) > lineBytesMax + 1) {
      return Promise.reject(
        new ProtocolError("bad_request", `the request is longer than ${lineBytesMax} bytes: send less, or a path as a reference`),
      );
    }
    const timer = setTimeout(() => this.timeOut(id, type), own + waitTime(type, fields));
    this.pending.set(id, { resolve, reject, timer });
    this.wire?.write(line);
    return promise;
  }

  /** Ends the connection; open requests are refused with `broker_closed`. */
  close(): void {
    this.end(new ProtocolError("broker_closed", "the connection was closed here"));
  }

  private timeOut(id: number, type: string): void {
    this.take(id)?.reject(new ProtocolError("timeout", `the broker did not answer ${type} in time`));
  }

  private take(id: number): Pending | undefined {
    const pending = this.pending.get(id);
    if (!pending) return undefined;
    this.pending.delete(id);
    clearTimeout(pending.timer);
    return pending;
  }

  private line(line: SplitLine): void {
    if (line === "too-long") return this.end(new ProtocolError("broker_closed", "the broker sent a line that is too long"));
    const frame = this.parse(line);
    if (!frame) return this.end(new ProtocolError("broker_closed", "what answers on the socket does not speak the protocol"));
    if ("type" in frame) return this.options.onEvent?.({ event: frame.event, payload: frame.payload } as ClientEvent);
    if (frame.id === null) return frame.ok ? undefined : this.end(refusal(frame));
    // A refused auth ends it all, before the lines that were sent along are told that they lack it.
    if (!frame.ok && frame.id === authId) return this.end(refusal(frame));
    const pending = this.take(frame.id);
    if (frame.ok) pending?.resolve(frame.result as never);
    else pending?.reject(refusal(frame));
  }

  private parse(line: Uint8Array): ServerFrame | null {
    try {
      const frame: unknown = JSON.parse(this.decoder.decode(line));
      return typeof frame === "object" && frame !== null ? (frame as ServerFrame) : null;
    } catch {
      return null;
    }
  }

  private end(error: ProtocolError): void {
    if (this.ended) return;
    this.ended = error;
    this.wire?.end();
    for (const id of [...this.pending.keys()]) this.take(id)?.reject(error);
    this.options.onClose?.();
  }
}

/** A wait is answered when its time is over, not before. */
function waitTime(type: RequestType, fields: object): number {
  return type === "wait" ? ((fields as Fields<"wait">).timeoutMs ?? 120_000) : 0;
}

function refusal(frame: ErrorFrame): ProtocolError {
  const { code, message, ...data } = frame.error;
  return new ProtocolError(code, message, data);
}
