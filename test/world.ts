// The true broker over a true store, in a world without sockets, clock or processes: tests write conversations and let time pass.
import type { Database } from "bun:sqlite";
import { Broker } from "../src/broker/broker.ts";
import type { BusOptions } from "../src/broker/bus.ts";
import type { CliPort, NativeChannel, NativeFrame, NativeOutcome, SessionView } from "../src/broker/ports.ts";
import { openStore } from "../src/broker/store/migrate.ts";
import { Store } from "../src/broker/store/store.ts";
import { cliPorts } from "../src/clis/ports.ts";
import { defaultLimits, type Limits } from "../src/protocol/constants.ts";
import type { ServerFrame } from "../src/protocol/frames.ts";
import { TestConnection } from "./world/connection.ts";
import { type Faults, faulty, noFaults } from "./world/faults.ts";
import { mismatch } from "./world/match.ts";
import { SimSystem } from "./world/system.ts";

export const token = "5ec2e7".padEnd(64, "0");
const ticksMax = 100_000;

export type WorldOptions = Partial<Pick<BusOptions, "ownerHandle" | "repliesToAll" | "retentionDays">> & {
  /** Where the database is; in memory without it (a graceful restart needs a file). */
  file?: string;
  limits?: Partial<Limits>;
  /** What the broker is told of the CLIs; without it the real facts and proof readers, and no native channel. */
  ports?: readonly CliPort[];
};

type SessionOptions = { client?: string; pid?: number; kind?: "hook" | "adapter"; [field: string]: unknown };

/** Real facts of the CLIs without their native channels; `changes` replaces parts of a port by client name. */
export function testPorts(changes: Record<string, Partial<CliPort>> = {}): CliPort[] {
  return cliPorts().map(({ native: _, ...port }) => ({ ...port, ...changes[port.client] }));
}

/** A native channel that a test steers: what it was asked to push stands in `frames`. */
export class FakeNative implements NativeChannel {
  up = true;
  holding = false;
  fault: string | null = null;
  readonly frames: (NativeFrame & { session: SessionView; report: (outcome: NativeOutcome) => void })[] = [];
  available(): boolean {
    return this.up;
  }
  holds(): boolean {
    return this.holding;
  }
  check(): string | null {
    return this.fault;
  }
  push(session: SessionView, frame: NativeFrame, report: (outcome: NativeOutcome) => void): void {
    this.frames.push({ ...frame, session, report });
  }
}

/** Broker, clock, processes, connections. */
export class World {
  readonly system = new SimSystem();
  readonly faults: Faults = noFaults();
  readonly logs: { level: string; event: string; data: Record<string, unknown> | undefined }[] = [];
  readonly connections = new Map<string, TestConnection>();
  readonly options: WorldOptions;
  broker: Broker;
  private db: Database;

  constructor(options: WorldOptions = {}) {
    this.options = options;
    this.db = openStore(options.file ?? ":memory:", this.system.now()).db;
    this.broker = this.start();
  }

  private start(): Broker {
    const { limits, ports, ownerHandle, repliesToAll, retentionDays } = this.options;
    const broker = new Broker({
      system: this.system,
      store: new Store(faulty(this.db, this.faults)),
      token: () => token,
      limits: { ...defaultLimits, ...limits },
      ownerHandle: ownerHandle ?? "renn",
      repliesToAll: repliesToAll ?? false,
      retentionDays: retentionDays ?? 0,
      ports: ports ?? testPorts(),
      version: "test",
      log: (level, event, data) => this.logs.push({ level, event, data }),
    });
    return broker;
  }

  /** Lets the broker do what is ready, and closes what it has ended. */
  settle = (): void => {
    for (let n = 0; this.broker.busy; n++) {
      if (n > ticksMax) throw new Error("the broker is never done");
      this.broker.turn();
    }
    for (const c of this.connections.values()) if (c.ended && !c.conn.closed && !c.slow) this.broker.close(c.conn);
  };

  /** Lets time pass; what it causes happens at its time. */
  advance(ms: number): void {
    const until = this.system.mono + ms;
    for (let n = 0; this.broker.bus.dueAt <= until; n++) {
      if (n > ticksMax) throw new Error("the broker never sleeps");
      this.pass(Math.max(this.system.mono, this.broker.bus.dueAt));
      this.broker.tick();
      this.settle();
    }
    this.pass(until);
  }
  private pass(mono: number): void {
    this.system.wall += mono - this.system.mono;
    this.system.mono = mono;
  }

  /** A new connection under a name of the test; authenticated unless `auth` is false. */
  connect(name: string, options: { auth?: boolean; pid?: number | null } = {}): TestConnection {
    const connection = new TestConnection(this.broker, this.settle, options.pid ?? null);
    this.connections.set(name, connection);
    if (options.auth !== false) connection.call("auth", { token });
    return connection;
  }

  /** A connection that is the peer of that handle. */
  register(handle: string, fields: object = {}, pid: number | null = null): TestConnection {
    const connection = this.connect(handle, { pid });
    connection.call("register", { handle, clientKind: "mcp", ...fields });
    return connection;
  }

  /** A connection that speaks as the owner. */
  owner(fields: object = {}, pid: number | null = null): TestConnection {
    const connection = this.connect("owner", { pid });
    connection.call("register", { owner: true, clientKind: "cli", ...fields });
    return connection;
  }

  /** The fields of a session in a process of its own. */
  sessionFields(
    name: string,
    { client = "claude", pid, ...fields }: SessionOptions = {},
  ): Record<string, unknown> & { host: { hostPid: number } } {
    const hostPid = pid ?? this.system.start();
    const host = { hostPid, hostStart: this.system.processStart(hostPid) ?? "gone" };
    return { event: "session-start", client, cliSessionId: `id-${name}`, host, source: "startup", ...fields };
  }

  /** A session with that handle, in a process of its own, and the hook connection that reported it. */
  session(handle: string, options: SessionOptions = {}): TestConnection & { fields: ReturnType<World["sessionFields"]> } {
    const fields = this.sessionFields(handle, { handle, ...options });
    const connection = this.connect(handle, { pid: fields.host.hostPid });
    connection.call("session", fields);
    return Object.assign(connection, { fields });
  }

  /** Kill -9 and a new broker over what is on the disk; `gently` stops the old one first. Connections are gone. */
  restart(how: "crash" | "gently" = "crash"): void {
    if (how === "gently") this.broker.stop();
    else if (this.db.inTransaction) this.db.run("ROLLBACK");
    for (const c of this.connections.values()) c.conn.closed = true;
    this.connections.clear();
    if (this.options.file) {
      this.db.close();
      this.db = openStore(this.options.file, this.system.now()).db;
    }
    this.broker = this.start();
  }

  /** Frees the database. */
  end(): void {
    this.db.close();
  }

  /**
   * Plays a conversation, one step a line:
   *   ann> send {threadId: null, to: bob, body: hi}      a request of ann's, its fields as JSON or YAML
   *   ann>> {"v":2,"id":1,"type":"auth"}                 a line as it is
   *   ann< ok {messageId: 1}                             ann's next frame: its result has at least this
   *   ann< unknown_handle {handle: bobb}                 … or its error, or an event of that name
   *   ann< nothing · ann< closed                         no frame is left · the broker ended the connection
   *   +500ms                                             time passes
   * A name that is new is a connection that has not said auth. `#` opens a comment.
   */
  play(script: string): void {
    for (const text of script.split("\n")) {
      const line = text.trim();
      if (!line || line.startsWith("#")) continue;
      const wait = /^\+(\d+) ?(ms|s|min)$/.exec(line);
      if (wait) {
        this.advance(Number(wait[1]) * { ms: 1, s: 1000, min: 60_000 }[wait[2] as "ms" | "s" | "min"]);
        continue;
      }
      const step = /^([\w-]+)(<|>>?) (.*)$/.exec(line);
      if (!step) throw new Error(`not a step: ${line}`);
      const [, name = "", way, rest = ""] = step;
      const connection = this.connections.get(name) ?? this.connect(name, { auth: false });
      if (way === ">>") connection.raw(rest);
      else if (way === ">") say(connection, rest);
      else hear(connection, rest, line);
    }
  }
}

function say(connection: TestConnection, text: string): void {
  const [, type = "", fields] = /^(\S+)\s*(.*)$/.exec(text) ?? [];
  connection.request(type, fields ? (Bun.YAML.parse(fields) as object) : {});
}

function hear(connection: TestConnection, text: string, line: string): void {
  const frame = connection.frames.shift();
  if (text === "nothing" || text === "closed") {
    if (frame) throw new Error(`${line}\n  but there is ${JSON.stringify(frame)}`);
    if (text === "closed" && !connection.ended) throw new Error(`${line}\n  but it is open`);
    return;
  }
  if (!frame) throw new Error(`${line}\n  but there is nothing`);
  const [, kind = "", fields] = text.startsWith("{") ? ["", "", text] : (/^(\S+)\s*(.*)$/.exec(text) ?? []);
  const want = fields ? (Bun.YAML.parse(fields) as unknown) : {};
  const wrong = kind ? (kindOf(frame) === kind ? mismatch(want, partOf(frame)) : `it is ${kindOf(frame)}`) : mismatch(want, frame);
  if (wrong) throw new Error(`${line}\n  ${wrong}\n  in ${JSON.stringify(frame)}`);
}

function kindOf(frame: ServerFrame): string {
  return "event" in frame ? frame.event : frame.ok ? "ok" : frame.error.code;
}

function partOf(frame: ServerFrame): unknown {
  return "event" in frame ? frame.payload : frame.ok ? frame.result : frame.error;
}
