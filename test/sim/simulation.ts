// One run of the simulation: a true broker, actors that come and go, faults, and after each step everything that must hold.
import type { Bus, Peer } from "../../src/broker/bus.ts";
import { defaultLimits } from "../../src/protocol/constants.ts";
import type { ErrorFrame, EventFrame, OkFrame } from "../../src/protocol/frames.ts";
import { tagIds } from "../../src/protocol/tag.ts";
import type { TestConnection } from "../world/connection.ts";
import { FakeNative, testPorts, World } from "../world.ts";
import { Audit, checkEnd, must, newFacts, type StepFacts } from "./audit.ts";
import { Expectations, type Expected, type ReplyFields, type SendFields } from "./expect.ts";
import { random } from "./random.ts";

/** Small, so that a short run meets them. */
const limits = { ...defaultLimits, sendsPerWindow: 8, unreadMax: 10, threadMessagesMax: 16 };

/** One CLI session: its process, its conversation, what it has not written into its transcript yet. */
export type Actor = { name: string; client: string; id: string; pid: number; started: boolean; transcript: string; unproven: number[] };
/** `sender` is undefined where the connection's peer changes in the same turn: it is then who it is afterwards. */
type Ask = {
  connection: TestConnection;
  type: string;
  fields: object;
  sender: Peer | null | undefined;
  expected: Expected | null;
  done: (frame: OkFrame | null) => void;
};
export type Answered = (frame: OkFrame | null) => void;

/** A proof reader for rows that name messages, as `shown 12 13`. */
const proofReader = () => (row: string) => (row.startsWith("shown ") ? row.slice(6).split(" ").map(Number) : []);

export class Simulation {
  readonly world: World;
  readonly native = new FakeNative();
  readonly audit = new Audit(limits);
  readonly expect = new Expectations(limits);
  readonly actors: Actor[] = [];
  readonly tools = new Map<string, TestConnection>();
  readonly trace: string[] = [];
  /** Pushes on a connection that its adapter has not confirmed. */
  readonly unconfirmed: { connection: TestConnection; id: number }[] = [];
  /** Connections that change their peer in this step: whose a push on them was is not looked at. */
  readonly rebound = new Set<TestConnection>();
  chance: () => number = random(0);
  facts: StepFacts = newFacts();
  lastSend: { handle: string; fields: SendFields } | null = null;
  clockWasSet = false;
  bodies = 0;
  private readonly asks = new Map<TestConnection, Map<number, Ask>>();
  private posted = 0;
  private names = 0;
  private readonly seenFrames = new WeakSet<object>();
  /** What sessions were shown, to be checked against the store before the step and after. */
  private shown: { peer: Peer; id: number; turn: boolean }[] = [];

  constructor() {
    const transcript = { proofReader };
    this.world = new World({
      limits,
      ports: testPorts({ claude: { ...transcript, native: this.native }, codex: transcript, gemini: transcript }),
    });
  }

  get bus(): Bus {
    return this.world.broker.bus;
  }

  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.chance() * list.length)] as T;
  }

  says(likely: number): boolean {
    return this.chance() < likely;
  }

  connect(pid: number | null): TestConnection {
    const connection = this.world.connect(`c${++this.names}`, { pid });
    this.asks.set(connection, new Map());
    return connection;
  }

  /** Whether later lines of a connection are held back by a wait. */
  waits(connection: TestConnection): boolean {
    return [...(this.asks.get(connection)?.values() ?? [])].some((ask) => ask.type === "wait");
  }

  /** Queues a request; `done` gets the ok frame, or null when it was refused or its answer was lost. */
  ask(connection: TestConnection, type: string, fields: object, done: Answered = () => {}): void {
    if (connection.conn.closed || connection.ended) return;
    const sender = connection.conn.peer;
    const alone = this.posted++ === 0;
    const expected = sender && alone ? this.expected(connection, sender, type, fields) : null;
    if (!alone) for (const asks of this.asks.values()) for (const ask of asks.values()) ask.expected = null;
    const id = connection.post(type, fields);
    this.trace.push(`  ${connection.conn.peer?.handle ?? "?"} ${type} ${JSON.stringify(fields)}`);
    const changes = this.rebound.has(connection) || this.facts.moved;
    this.asks.get(connection)?.set(id, { connection, type, fields, sender: changes ? undefined : sender, expected, done });
  }

  private expected(connection: TestConnection, sender: Peer, type: string, fields: object): Expected | null {
    const { via } = connection.conn;
    if (connection.conn.wait || connection.slow || this.expect.blind) return null;
    if (type === "send") return this.expect.send(this.bus, sender, via, fields as SendFields);
    return type === "reply" ? this.expect.reply(this.bus, sender, via, fields as ReplyFields) : null;
  }

  /** Lets the broker work, takes what it answered, and checks everything. */
  finish(): void {
    this.world.settle();
    for (const connection of this.world.connections.values()) this.collect(connection);
    // What the store could not take of a connection's end is tried again within a second.
    if (this.world.faults.happened) {
      this.noFaults();
      this.advance(1_001);
      for (const connection of this.world.connections.values()) this.collect(connection);
    }
    this.noFaults();
    for (const [name, connection] of this.world.connections) if (connection.ended || connection.conn.closed) this.forget(name, connection);
    this.check();
  }

  noFaults(): void {
    Object.assign(this.world.faults, { writesLeft: null, next: [], commits: 0, happened: 0 });
  }

  check(): void {
    const before = this.audit.deliveries;
    this.takeFrames();
    this.audit.check(this.bus, this.facts);
    this.checkShown(before);
    for (const [connection, asks] of this.asks)
      if (!connection.conn.wait && !connection.conn.closed && !connection.slow)
        must(asks.size === 0, () => `${[...asks.values()].map((a) => a.type)} got no answer`);
    this.facts = newFacts();
    this.rebound.clear();
    this.posted = 0;
  }

  /** A connection is gone: what it asked and was not told may have happened. */
  forget(name: string, connection: TestConnection): void {
    this.world.connections.delete(name);
    for (const ask of this.asks.get(connection)?.values() ?? []) {
      if (ask.type === "send" || ask.type === "reply")
        this.facts.unknown.set((ask.fields as SendFields).body, (id) => this.remember(ask, id));
      ask.done(null);
    }
    this.asks.delete(connection);
  }

  private collect(connection: TestConnection): void {
    let lastId = 0;
    for (const frame of connection.frames.splice(0)) {
      if ("event" in frame) this.event(connection, frame);
      else {
        const id = frame.id ?? -1;
        const ask = this.asks.get(connection)?.get(id);
        must(ask !== undefined, () => `an answer to request ${id}, which was answered or never asked`);
        must(id > lastId, () => `request ${id} was answered after ${lastId}`);
        lastId = id;
        this.asks.get(connection)?.delete(id);
        if (ask) this.answered(ask, frame);
      }
    }
  }

  private answered(ask: Ask, frame: OkFrame | ErrorFrame): void {
    const code = frame.ok ? "ok" : frame.error.code;
    this.trace.push(`    ${ask.type}: ${frame.ok ? JSON.stringify(frame.result)?.slice(0, 160) : frame.error.message}`);
    must(
      code !== "internal" || this.world.faults.happened > 0,
      () => `${ask.type} ${JSON.stringify(ask.fields)} gave internal: ${JSON.stringify(this.world.logs.at(-1))}`,
    );
    if (frame.ok && ask.type === "wait") checkWait(ask.fields, frame.result as Waited);
    if (frame.ok && (ask.type === "send" || ask.type === "reply")) this.messageStored(ask, frame.result as Sent);
    if (ask.expected && code !== "internal")
      must(
        ask.expected.codes.includes(code),
        () => `${ask.type} ${JSON.stringify(ask.fields)} gave ${code} and not ${ask.expected?.codes}`,
      );
    ask.done(frame.ok ? frame : null);
  }

  private messageStored(ask: Ask, result: Sent): void {
    const fields = ask.fields as SendFields | ReplyFields;
    const { expected } = ask;
    if (result.repeated) {
      must(
        expected === null || expected.repeats === result.messageId,
        () => `the key ${fields.key} gave message ${result.messageId}, its first was ${expected?.repeats}`,
      );
      return;
    }
    must(
      expected?.repeats == null,
      () => `the key ${fields.key} was used for message ${expected?.repeats}, and message ${result.messageId} was stored`,
    );
    this.facts.stored.set(result.messageId, fields.body);
    this.remember(ask, result.messageId);
    if (!expected?.deliveries) return;
    const got = result.deliveries.map((d) => `${this.bus.peers.named(d.handle)?.id} ${d.mode}`).sort();
    const want = [...expected.deliveries].map(([id, mode]) => `${id} ${mode}`).sort();
    must(got.join() === want.join(), () => `${ask.type} ${JSON.stringify(ask.fields)} went to ${got}, should go to ${want}`);
    must((result.skipped?.length ?? 0) === expected.skipped, () => `${result.skipped?.length ?? 0} were skipped, not ${expected.skipped}`);
  }

  private remember({ fields, sender: asked }: Ask, id: number): void {
    const f = fields as SendFields | ReplyFields;
    const { sender_id } = this.bus.store.db.query("SELECT sender_id FROM messages WHERE id = ?").get(id) as { sender_id: number };
    must(
      !asked || asked.id === sender_id || this.expect.blind || this.facts.moved,
      () => `message ${id} of ${asked?.handle} is stored as sent by peer ${sender_id}`,
    );
    const sender = this.bus.peers.get(sender_id);
    const content =
      "to" in f ? JSON.stringify([f.threadId, f.to, f.body, f.mode ?? "push"]) : JSON.stringify([f.messageId, f.body, f.verdict ?? null]);
    if (sender) this.expect.stored(this.bus, sender, "to" in f ? "send" : "reply", f, content, id);
  }

  private event(connection: TestConnection, frame: EventFrame): void {
    if (frame.event !== "push") return;
    const { message, text } = frame.payload as { message: { id: number }; text: string };
    must(tagIds(text)[0] === message.id, () => `the push of message ${message.id} reads ${text}`);
    const { peer } = connection.conn;
    if (peer && !this.rebound.has(connection)) this.shown.push({ peer, id: message.id, turn: false });
    this.unconfirmed.push({ connection, id: message.id });
  }

  /** A session was given these texts, at the start of a turn or in the middle of one. */
  texts(peer: Peer | undefined, texts: readonly string[], turn: boolean): number[] {
    const ids = texts.flatMap(tagIds);
    if (peer) for (const id of ids) this.shown.push({ peer, id, turn });
    return ids;
  }

  /** What went to CLIs over their own sockets counts as shown, whatever becomes of it. */
  private takeFrames(): void {
    for (const frame of this.native.frames.filter((f) => !this.seenFrames.has(f))) {
      this.seenFrames.add(frame);
      const { client, cliSessionId } = frame.session;
      const ids = this.texts(this.bus.sessions.get(`${client}\n${cliSessionId}`)?.peer, [frame.text], false);
      must(ids.join() === frame.ids.join(), () => `a frame of messages ${frame.ids} reads ${frame.text}`);
    }
  }

  /** Nobody is shown what is not for them, what waits for their next turn only, or what they have had. */
  private checkShown(before: ReadonlyMap<string, { state: number }>): void {
    for (const { peer, id, turn } of this.shown.splice(0)) {
      const key = `m${id} p${peer.id}`;
      const delivery = this.audit.deliveries.get(key);
      if (this.facts.moved) continue;
      must(delivery !== undefined, () => `${peer.handle} was shown message ${id}, which is not for it`);
      must(
        delivery?.mode === 0 || (turn && delivery?.mode === 1),
        () => `${peer.handle} was shown message ${id} of mode ${delivery?.mode}`,
      );
      must(
        (before.get(key)?.state ?? 0) < 2,
        () => `${peer.handle} was shown message ${id} again, which was in state ${before.get(key)?.state}`,
      );
    }
  }

  /** The end: everybody leaves, all windows pass, and nothing may be left in the air. */
  end(): void {
    // Processes that an actor has left (a resume elsewhere, a fork) live on and say nothing more.
    for (const actor of this.actors) this.world.system.kill(actor.pid);
    this.native.holding = false;
    for (const connection of [...this.world.connections.values()]) {
      connection.slow = false;
      connection.close();
    }
    this.finish();
    this.advance(4 * limits.proofWindowMs + 20 * 60_000);
    this.finish();
    checkEnd(this.bus, this.audit.deliveries);
  }

  advance(ms: number): void {
    this.trace.push(`  +${ms} ms`);
    this.world.advance(ms);
  }
}

type Sent = { messageId: number; deliveries: { handle: string; mode: string }[]; skipped?: string[]; repeated?: boolean };
type Waited = {
  conditionMet: boolean;
  timedOut: boolean;
  matrix: { handle: string; replyMessageId: number | null }[];
  notes: { kind: string }[];
};

/** A wait ends because its condition holds, its time is over, or (only with `early`) nobody is left who could answer. */
function checkWait(fields: object, result: Waited): void {
  const { until, early } = fields as { until: string; early: boolean };
  const replied = result.matrix.filter((row) => row.replyMessageId !== null).length;
  const met = until === "all_replied" ? replied === result.matrix.length : replied > 0;
  must(!result.conditionMet || met, () => `a wait for ${until} ends with ${replied} of ${result.matrix.length} replies`);
  const gone = early && result.notes.some((note) => note.kind === "gone" || note.kind === "circle");
  must(result.conditionMet || result.timedOut || gone, () => "a wait ends for no reason");
}
