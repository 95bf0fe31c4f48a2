// Sockets, outboxes, one timer: the only asynchronous room. Lines go in to the broker, answers and pushes come out of it.
import type { Socket, UnixSocketListener } from "bun";
import { peerCredentials } from "../credentials.ts";
import { LineSplitter } from "../wire.ts";
import type { Broker } from "./broker.ts";
import type { Conn, Sink } from "./bus.ts";

/** What a connection may have lying in the broker, unread lines or unsent answers, before it is not read from any more. */
const heldBytesMax = 4 * 1_048_576;
/** What a waiting line costs beside its text. */
const lineCostBytes = 128;

/** How often, and how many times, the end looks whether everything has left. */
const stopStepMs = 10;
const stopStepsMax = 100;

type State = { conn: Conn; splitter: LineSplitter; sink: SocketSink };
type BusSocket = Socket<State>;
type Chunk = { bytes: Uint8Array; taken: (() => void) | undefined };

/** Lines on their way to one socket. They are gathered in a turn and leave in one write. */
class SocketSink implements Sink {
  readonly pid: number | null;
  private readonly socket: BusSocket;
  private readonly dirty: Set<SocketSink>;
  private chunks: Chunk[] = [];
  private text = "";
  private waiting = 0;
  private ending = false;
  private dropping = false;
  constructor(socket: BusSocket, pid: number | null, dirty: Set<SocketSink>) {
    this.socket = socket;
    this.pid = pid;
    this.dirty = dirty;
  }

  write(line: string, taken?: () => void): void {
    this.text += line;
    this.waiting += line.length;
    if (taken) this.keep(0, taken);
    this.dirty.add(this);
  }

  end(): void {
    this.ending = true;
    this.dirty.add(this);
  }

  drop(): void {
    this.dropping = true;
    this.dirty.add(this);
  }

  pending(): number {
    return this.waiting;
  }

  /** What is gathered, but for its first `written` bytes, goes when the socket has taken what is before it. */
  private keep(written: number, taken?: () => void): void {
    this.chunks.push({ bytes: Buffer.from(this.text).subarray(written), taken });
    this.text = "";
  }

  /** Writes what the socket takes; the rest waits for its drain. */
  flush(): void {
    if (this.dropping) return void this.socket.terminate();
    if (!this.chunks.length) this.writeText();
    else this.writeChunks();
    this.waiting = this.chunks.reduce((sum, c) => sum + c.bytes.length, 0);
    if (!this.chunks.length && this.ending) this.socket.end();
  }

  /** As a text it is written without a buffer made of it, which is what nearly every write needs. */
  private writeText(): void {
    if (!this.text) return;
    const written = Math.max(0, this.socket.write(this.text));
    if (written < Buffer.byteLength(this.text)) this.keep(written);
    else this.text = "";
  }

  private writeChunks(): void {
    if (this.text) this.keep(0);
    let chunk = this.chunks[0];
    while (chunk) {
      const written = this.socket.write(chunk.bytes);
      if (written < 0) break;
      if (written < chunk.bytes.length) {
        chunk.bytes = chunk.bytes.subarray(written);
        break;
      }
      this.chunks.shift();
      chunk.taken?.();
      chunk = this.chunks[0];
    }
  }
}

/** Runs a broker on sockets. */
export class Server {
  private readonly broker: Broker;
  private readonly dirty = new Set<SocketSink>();
  private readonly paused = new Set<BusSocket>();
  private listener: UnixSocketListener<State> | null = null;
  private scheduled = false;
  private timer: ReturnType<typeof setTimeout> | null = null;
  /** Called at each tick: with live sessions that is every five seconds. */
  onTick: () => void = () => {};
  private timerAt = Number.POSITIVE_INFINITY;
  private readonly monotonic: () => number;
  /** The store is closed: nothing is taken in any more, only what is unsent still leaves. */
  private stopping = false;

  constructor(broker: Broker, monotonic: () => number) {
    this.broker = broker;
    this.monotonic = monotonic;
    broker.wake = () => this.schedule();
  }

  /** Listens on a path where nothing is; the socket's mode is 0600 from its first moment on. */
  listen(path: string): void {
    // Stopping a listener unlinks its path, so the old one goes before the new one is there.
    this.listener?.stop(false);
    const mask = process.umask(0o177);
    try {
      this.listener = Bun.listen<State>({
        unix: path,
        allowHalfOpen: true,
        socket: {
          open: (socket) => this.opened(socket),
          data: (socket, bytes) => this.received(socket, bytes),
          drain: (socket) => this.drained(socket),
          end: (socket) => {
            if (socket.data) this.broker.halfClose(socket.data.conn);
            this.flush();
          },
          close: (socket) => this.closed(socket),
          error: () => {},
        },
      });
    } finally {
      process.umask(mask);
    }
    this.arm();
  }

  /** No new connections; what was read is answered, waits are told. Resolves when all of it has left, at the latest after a second. */
  async stop(): Promise<void> {
    this.listener?.stop(false);
    if (this.timer) clearTimeout(this.timer);
    this.stopping = true;
    this.broker.stop();
    this.flush();
    const unsent = () => [...this.broker.bus.conns].some((conn) => conn.sink.pending() > 0);
    for (let n = 0; n < stopStepsMax && unsent(); n++) await Bun.sleep(stopStepMs);
  }

  private opened(socket: BusSocket): void {
    // Bun's types do not name it, but the descriptor is there.
    const credentials = peerCredentials((socket as unknown as { fd: number }).fd);
    if (credentials && credentials.uid !== process.getuid?.()) {
      this.broker.bus.log("warn", "stranger-refused", { uid: credentials.uid });
      socket.terminate();
      return;
    }
    const sink = new SocketSink(socket, credentials?.pid ?? null, this.dirty);
    socket.data = { conn: this.broker.open(sink), splitter: new LineSplitter(), sink };
    this.arm();
  }

  private received(socket: BusSocket, bytes: Uint8Array): void {
    const state = socket.data;
    if (!state || this.stopping) return;
    state.splitter.push(bytes, (line) => {
      if (line.length) this.broker.line(state.conn, line);
    });
    if (!this.holdsTooMuch(state)) return;
    socket.pause();
    this.paused.add(socket);
  }

  private drained(socket: BusSocket): void {
    socket.data?.sink.flush();
    if (this.broker.busy) this.schedule();
    this.resume();
  }

  private holdsTooMuch(state: State): boolean {
    let bytes = state.sink.pending();
    for (const line of state.conn.lines) bytes += (line?.length ?? 0) + lineCostBytes;
    return bytes > heldBytesMax;
  }

  /** Reads on from connections whose lines have had their turn and whose answers have left. */
  private resume(): void {
    for (const socket of this.paused) {
      if (socket.data && this.holdsTooMuch(socket.data)) continue;
      this.paused.delete(socket);
      socket.resume();
    }
  }

  private closed(socket: BusSocket): void {
    const state = socket.data;
    if (!state) return;
    this.paused.delete(socket);
    this.dirty.delete(state.sink);
    if (this.stopping) return void this.broker.bus.conns.delete(state.conn);
    this.broker.close(state.conn);
    this.flush();
    this.arm();
  }

  private schedule(): void {
    if (this.scheduled || this.stopping) return;
    this.scheduled = true;
    setImmediate(() => this.run());
  }

  private run(): void {
    this.scheduled = false;
    if (this.stopping) return;
    this.broker.turn();
    this.flush();
    this.arm();
    if (this.paused.size) this.resume();
    if (this.broker.busy) this.schedule();
  }

  private flush(): void {
    for (const sink of [...this.dirty]) {
      this.dirty.delete(sink);
      sink.flush();
    }
  }

  /** One timer for everything that time causes; an idle broker has none. */
  private arm(): void {
    if (this.stopping) return;
    const at = this.broker.bus.dueAt;
    if (at >= this.timerAt && this.timer) return;
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
    this.timerAt = at;
    if (at === Number.POSITIVE_INFINITY) return;
    const delay = Math.min(Math.max(0, at - this.monotonic()), 2 ** 30);
    this.timer = setTimeout(() => this.tick(), delay);
  }

  private tick(): void {
    this.timer = null;
    this.timerAt = Number.POSITIVE_INFINITY;
    this.broker.tick();
    this.onTick();
    this.flush();
    this.arm();
  }
}
