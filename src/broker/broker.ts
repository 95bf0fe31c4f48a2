// The broker itself: connections, turns, time. Synchronous from end to end; the server (or a test) brings lines in and carries answers out.
//
// A turn takes what is ready, round robin over connections, in one transaction; only after its commit do answers and pushes leave.
import type { ClientName } from "../protocol/constants.ts";
import { ProtocolError } from "../protocol/errors.ts";
import { errorLine } from "../protocol/frames.ts";
import { hasVisible } from "../protocol/text.ts";
import type { SplitLine } from "../wire.ts";
import { type Bus, type BusOptions, type Conn, due, type Sink } from "./bus.ts";
import { handleLine, isDurable, type Line, readLine } from "./dispatch.ts";
import { replyAs } from "./handlers/send.ts";
import { keepHouse, wakeHouse } from "./housekeeping.ts";
import { sessionKey, unbind } from "./identity.ts";
import { load } from "./load.ts";
import { nativeOutcome } from "./native.ts";
import { newBus, newConn } from "./new-bus.ts";
import { sendNews } from "./news.ts";
import { checkProofs } from "./proof.ts";
import { takeLines } from "./ready.ts";
import { checkSessions } from "./session-ends.ts";
import { takeBackSteps } from "./steps.ts";
import { checkAuth, checkGrace } from "./time.ts";
import { decodeLine } from "./validate.ts";
import { cancelWait, expireWaits } from "./waits.ts";

/** A connection that has this much unsent is not read from; with this much of events it is dropped (semantics §2). */
const unsentPauseBytes = 4 * 1_048_576;
const unsentDropBytes = 8 * 1_048_576;
/** When housekeeping that failed is tried again. */
const houseRestMs = 60_000;
/** When a tick that failed is tried again. */
const retryMs = 1_000;

/** The one object a server needs: open, line, close, turn, tick. */
export class Broker {
  readonly bus: Bus;
  private readonly ready = new Set<Conn>();
  private steps: (() => void)[] = [];
  private readonly leaving = new Set<Conn>();
  private nextConn = 1;
  /** Why the last turn that failed did. */
  private failure: unknown;
  /** Called when something wants a turn; the server schedules one. */
  wake: () => void = () => {};

  /** Throws what the store throws where it cannot be read. */
  constructor(options: BusOptions) {
    const bus = newBus(options, {
      later: (step) => {
        this.steps.push(step);
        this.wake();
      },
      nativeReport: (session, ids, outcome) => bus.later(() => nativeOutcome(bus, session, ids, outcome)),
    });
    this.bus = bus;
    if (!this.inTurn(true, () => load(bus))) throw this.failure;
    // What a start leaves behind goes as well, once it is quiet.
    wakeHouse(bus);
  }

  /** A new connection. */
  open(sink: Sink): Conn {
    const conn = newConn(this.nextConn++, sink, this.bus.system.monotonic());
    this.bus.conns.add(conn);
    due(this.bus, conn.authDeadline);
    // Whoever comes will want the token: a file that somebody removed is there again before it is looked for a second time.
    this.bus.token();
    return conn;
  }

  /** A line has come; it is handled in a later turn. Its bytes are not looked at again. */
  line(conn: Conn, line: SplitLine): void {
    if (conn.closed || conn.closing) return;
    conn.lines.push(line === "too-long" ? null : decodeLine(line));
    this.ready.add(conn);
    this.wake();
  }

  /** The other side will send no more; answers still reach it. */
  halfClose(conn: Conn): void {
    conn.halfClosed = true;
    this.endIfDone(conn);
  }

  /** The connection is gone. */
  close(conn: Conn): void {
    if (conn.closed) return;
    conn.closed = true;
    conn.lines = [];
    this.ready.delete(conn);
    this.bus.conns.delete(conn);
    this.bus.watchers.delete(conn);
    this.leave(conn);
  }

  /** Takes a closed connection from its peer. Where the store cannot take it now, it is tried again at the next tick. */
  private leave(conn: Conn): void {
    if (!conn.peer) return;
    const done = this.inTurn(false, () => {
      if (conn.wait) cancelWait(this.bus, conn.wait);
      unbind(this.bus, conn);
    });
    if (done) this.leaving.delete(conn);
    else {
      this.leaving.add(conn);
      due(this.bus, this.bus.mono + retryMs);
    }
  }

  /** Whether lines are waiting for a turn. */
  get busy(): boolean {
    return this.steps.length > 0 || [...this.ready].some((conn) => this.mayRead(conn));
  }

  private mayRead(conn: Conn): boolean {
    return !conn.wait && !conn.closing && conn.lines.length > 0 && conn.sink.pending() < unsentPauseBytes;
  }

  /** Handles what is ready: round robin, one transaction. Call again while `busy`. */
  turn(): void {
    const steps = this.steps.splice(0);
    if (steps.length)
      this.inTurn(false, () => {
        for (const step of steps) step();
      });
    const lines = takeLines(this.ready, (conn) => this.mayRead(conn));
    if (!lines.length) return;
    if (!this.inTurn(lines.some(isDurable), () => this.handleAll(lines)))
      for (const line of lines) if (!this.inTurn(isDurable(line), () => this.handleAll([line]))) this.answerInternal(line);
    for (const conn of this.bus.conns) if (conn.halfClosed) this.endIfDone(conn);
    wakeHouse(this.bus);
  }

  private handleAll(lines: readonly Line[]): void {
    const { counts, system } = this.bus;
    let from = system.monotonic();
    for (const line of lines) {
      handleLine(this.bus, line);
      const to = system.monotonic();
      counts.requests++;
      counts.timings[counts.timingAt++ % counts.timings.length] = (to - from) * 1000;
      from = to;
    }
  }

  private answerInternal(line: Line): void {
    const id = line.request?.id ?? null;
    line.conn.sink.write(errorLine(id, "internal", "the broker could not do it, and stored nothing of it; broker.log has the cause"));
  }

  /**
   * Runs a step in a transaction of its own. On any failure everything is taken back, memory included, and it answers false;
   * SQLITE_FULL and the like have then rolled back by themselves.
   */
  private inTurn(durable: boolean, step: () => void): boolean {
    const { bus } = this;
    bus.now = bus.system.now();
    bus.mono = bus.system.monotonic();
    try {
      bus.store.begin(durable);
      step();
      // An error inside SQLite may have ended the transaction while the handler went on.
      if (!bus.store.inTransaction) throw new Error("the transaction ended by itself");
      bus.store.commit();
      bus.counts.commits++;
    } catch (error) {
      this.takeBackTurn(error);
      return false;
    }
    bus.steps.length = 0;
    this.flush();
    return true;
  }

  private takeBackTurn(error: unknown): void {
    const { bus } = this;
    this.failure = error;
    bus.log("error", "turn-failed", { error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    try {
      bus.store.rollback();
    } catch (again) {
      bus.log("error", "rollback-failed", { error: String(again) });
    }
    takeBackSteps(bus.steps);
    bus.threads.clear();
    bus.out.length = 0;
    bus.after.length = 0;
  }

  private flush(): void {
    const { bus } = this;
    const out = bus.out;
    bus.out = [];
    for (const { conn, line, taken, event } of out) {
      if (conn.closed || conn.dropped) continue;
      if (event && conn.sink.pending() + line.length > unsentDropBytes) {
        bus.log("warn", "slow-reader-dropped", { conn: conn.id });
        conn.dropped = true;
        conn.sink.drop();
        continue;
      }
      conn.sink.write(line, taken);
    }
    for (const { conn } of out) if (conn.closing) conn.sink.end();
    for (const step of bus.after.splice(0)) step();
  }

  /** Ends a half-closed connection once nothing is left to answer. */
  private endIfDone(conn: Conn): void {
    if (conn.halfClosed && !conn.closed && !conn.lines.length && !conn.wait) conn.sink.end();
  }

  /** A session answered a pushed message through its CLI's own messaging. What the bus refuses is only logged: nobody waits for the answer. */
  sessionSaid(client: ClientName, cliSessionId: string, messageId: number, body: string): void {
    this.bus.later(() => {
      const { bus } = this;
      const session = bus.sessions.get(sessionKey(client, cliSessionId));
      if (!session || !bus.store.delivery(messageId, session.peer.id)) return;
      try {
        if (hasVisible(body)) replyAs(bus, null, session.peer, { messageId, body });
      } catch (error) {
        if (!(error instanceof ProtocolError)) throw error;
        bus.log("warn", "session-reply-refused", { handle: session.peer.handle, messageId, code: error.code });
      }
    });
  }

  /** Does all that time causes. Returns the monotonic time of the next deadline, or Infinity. */
  tick(): number {
    const { bus } = this;
    bus.mono = bus.system.monotonic();
    let next = Number.POSITIVE_INFINITY;
    // What the steps below hand over has deadlines of its own; these gather here.
    bus.dueAt = next;
    for (const conn of [...this.leaving]) this.leave(conn);
    const done = this.inTurn(false, () => {
      next = Math.min(checkSessions(bus), expireWaits(bus), checkProofs(bus), sendNews(bus), checkGrace(bus));
    });
    next = Math.min(next, this.house());
    next = Math.min(next, checkAuth(bus), done && !this.leaving.size ? next : bus.mono + retryMs);
    due(bus, next);
    for (const conn of bus.conns) if (conn.halfClosed) this.endIfDone(conn);
    if (this.busy) this.wake();
    return bus.dueAt;
  }

  /** Housekeeping has a transaction of its own: what it cannot do must not keep waits and proofs from their time. */
  private house(): number {
    const { bus } = this;
    if (bus.mono < bus.house.nextAt) return bus.house.nextAt;
    let next = bus.mono + houseRestMs;
    if (
      !this.inTurn(false, () => {
        next = keepHouse(bus);
      })
    )
      bus.house.nextAt = next;
    return next;
  }

  /** The end: open waits hear `broker_closed`, what was seen is written, the store is closed. */
  stop(): void {
    const { bus } = this;
    while (this.busy) this.turn();
    const refuse = (conn: Conn, id: number | null) =>
      conn.sink.write(errorLine(id, "broker_closed", "the broker is stopping; ask the next one again"));
    for (const conn of bus.conns) {
      if (conn.wait) refuse(conn, conn.wait.requestId);
      // What stood behind a wait was not done.
      for (const { request, bad } of conn.lines.splice(0).map((line) => readLine(conn, line))) refuse(conn, request?.id ?? bad?.id ?? null);
    }
    this.inTurn(true, () => {
      for (const peer of bus.seen) bus.store.setSeen(peer.id, peer.lastSeenAt);
    });
    try {
      bus.store.checkpoint();
    } catch (error) {
      bus.log("warn", "checkpoint-failed", { error: String(error) });
    }
    bus.store.close();
  }
}
