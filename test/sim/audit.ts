// What must hold after every step of a simulation, whatever happened: compared are the store before and after, and the broker's memory with its store.
import type { Bus, Peer } from "../../src/broker/bus.ts";
import type { Limits } from "../../src/protocol/constants.ts";
import { attemptsMax } from "../../src/protocol/constants.ts";

/** A property of the bus that did not hold. */
export class Violation extends Error {}

export function must(holds: boolean, what: () => string): void {
  if (!holds) throw new Violation(what());
}

const [queued, sent, delivered, acknowledged] = [0, 1, 2, 3];
const push = 0;

export type Delivery = {
  state: number;
  mode: number;
  attempts: number;
  channel: string | null;
  pull: number;
  messageId: number;
  peerId: number;
};
type Row = [number, number, number, number, number, string | null, number];

const keyOf = (messageId: number, peerId: number) => `m${messageId} p${peerId}`;

/** What the requests of one step came to. */
export type StepFacts = {
  /** New messages that were answered with ok: id to body. */
  stored: Map<number, string>;
  /** Sends and replies by their body that nobody will ever hear of: stored whole, or not at all. The function is told when it was. */
  unknown: Map<string, (id: number) => void>;
  /** Deliveries that a cancel took away. */
  cancelled: Set<string>;
  /** Peers whose queue may have moved to another peer. */
  moved: boolean;
};

export function newFacts(): StepFacts {
  return { stored: new Map(), unknown: new Map(), cancelled: new Set(), moved: false };
}

/** Follows one store from step to step. */
export class Audit {
  /** Deliveries as they were after the last step. */
  deliveries = new Map<string, Delivery>();
  private lastMessageId = 0;
  private messages = 0;
  private readonly newestHandedOver = new Map<number, number>();
  private readonly limits: Limits;

  constructor(limits: Limits) {
    this.limits = limits;
  }

  /** Compares everything; throws a Violation. */
  check(bus: Bus, facts: StepFacts): void {
    const before = this.deliveries;
    this.deliveries = readDeliveries(bus);
    this.checkMessages(bus, facts);
    for (const [key, now] of this.deliveries) checkMove(key, before.get(key), now);
    for (const [key, old] of before) {
      const gone = !this.deliveries.has(key) && !facts.moved;
      must(
        !gone || (facts.cancelled.has(key) && old.state === queued && old.attempts === 0),
        () => `${key} has vanished from state ${old.state}`,
      );
    }
    this.checkOrder(before, facts);
    checkState(bus, this.deliveries);
    this.checkThreads(bus);
  }

  /** Each new message was answered with ok or has no known outcome; each has all of its deliveries; none is gone. */
  private checkMessages(bus: Bus, facts: StepFacts): void {
    const { db } = bus.store;
    const rows = db.query("SELECT id, recipients, body FROM messages WHERE id > ? ORDER BY id").values(this.lastMessageId) as [
      number,
      string,
      string,
    ][];
    for (const [id, recipients, body] of rows) {
      must(
        facts.stored.get(id) === body || facts.unknown.has(body),
        () => `message ${id} ${JSON.stringify(body)} is stored, and its sender was refused`,
      );
      if (facts.stored.get(id) !== body) facts.unknown.get(body)?.(id);
      for (const peerId of JSON.parse(recipients) as number[])
        must(
          this.deliveries.has(keyOf(id, peerId)) || facts.moved || facts.cancelled.has(keyOf(id, peerId)),
          () => `message ${id} has no delivery for peer ${peerId}`,
        );
    }
    const found = new Set(rows.map(([id]) => id));
    for (const [id] of facts.stored) must(found.has(id), () => `message ${id} was answered with ok and is not stored`);
    const [[count]] = db.query("SELECT count(*) FROM messages").values() as [[number]];
    must(count === this.messages + rows.length, () => `${this.messages} messages and ${rows.length} new ones make ${count}`);
    this.messages = count;
    this.lastMessageId = rows.at(-1)?.[0] ?? this.lastMessageId;
    must(
      bus.nextMessageId === this.lastMessageId + 1,
      () => `the next message would be ${bus.nextMessageId}, the last is ${this.lastMessageId}`,
    );
  }

  /** FIFO by first hand-over: whoever is handed a push for the first time was handed all older ones before. */
  private checkOrder(before: ReadonlyMap<string, Delivery>, facts: StepFacts): void {
    if (facts.moved) return this.newestHandedOver.clear();
    const fresh = new Map<number, number[]>();
    for (const [key, d] of this.deliveries) {
      if (d.mode !== push || d.attempts === 0 || d.channel === "wait" || (before.get(key)?.attempts ?? 0) > 0) continue;
      const list = fresh.get(d.peerId);
      if (list) list.push(d.messageId);
      else fresh.set(d.peerId, [d.messageId]);
    }
    for (const [peerId, ids] of fresh) {
      const newest = this.newestHandedOver.get(peerId) ?? 0;
      must(
        Math.min(...ids) > newest,
        () => `peer ${peerId} was handed message ${Math.min(...ids)} for the first time after message ${newest}`,
      );
      this.newestHandedOver.set(peerId, Math.max(...ids));
    }
  }

  private checkThreads(bus: Bus): void {
    const rows = bus.store.db.query("SELECT thread_id, count(*), max(seq), max(id) FROM messages GROUP BY thread_id").values() as [
      number,
      number,
      number,
      number,
    ][];
    for (const [threadId, count, seq, messageId] of rows) {
      must(count === seq, () => `thread ${threadId} has ${count} messages, the last is #${seq}`);
      must(count <= this.limits.threadMessagesMax, () => `thread ${threadId} holds ${count} messages`);
      const known = bus.threads.get(threadId);
      must(
        !known || (known.latestSeq === seq && known.latestMessageId === messageId),
        () => `thread ${threadId} is remembered otherwise than it is stored`,
      );
    }
    for (const [threadId, known] of bus.threads) {
      const stored = (
        bus.store.db.query("SELECT peer_id FROM participants WHERE thread_id = ? ORDER BY peer_id").values(threadId) as [number][]
      ).map(([id]) => id);
      const remembered = [...known.participants].map((p) => p.id).sort((a, b) => a - b);
      must(stored.join() === remembered.join(), () => `thread ${threadId} has participants ${stored}, remembered are ${remembered}`);
    }
  }
}

/** What must hold at any moment, whatever went before: the broker's memory is what its store says. */
export function checkState(bus: Bus, deliveries: ReadonlyMap<string, Delivery> = readDeliveries(bus)): void {
  checkHandouts(bus, deliveries);
  checkPeers(bus, deliveries);
  checkPlaces(bus);
}

function readDeliveries(bus: Bus): Map<string, Delivery> {
  const rows = bus.store.db.query("SELECT message_id, peer_id, state, mode, attempts, channel, pull FROM deliveries").values() as Row[];
  const deliveries = new Map<string, Delivery>();
  for (const [messageId, peerId, state, mode, attempts, channel, pull] of rows)
    deliveries.set(keyOf(messageId, peerId), { messageId, peerId, state, mode, attempts, channel, pull });
  return deliveries;
}

/** Never backwards but sent → queued. */
function checkMove(key: string, before: Delivery | undefined, now: Delivery): void {
  if (!before) return;
  const back = now.state < before.state && !(before.state === sent && now.state === queued);
  must(!back, () => `${key} went from state ${before.state} to ${now.state}`);
  must(
    now.attempts >= before.attempts && now.attempts <= attemptsMax + 1,
    () => `${key} has ${now.attempts} attempts after ${before.attempts}`,
  );
  must(now.mode === before.mode, () => `${key} changed its mode`);
}

/** `sent` is what some channel has in hand: nothing else is, so that each has somebody who will move it on or take it back. */
function checkHandouts(bus: Bus, deliveries: ReadonlyMap<string, Delivery>): void {
  const handed = new Set([...bus.handouts].map((h) => keyOf(h.messageId, h.peer.id)));
  for (const [key, d] of deliveries)
    must((d.state === sent) === handed.has(key), () => `${key} is in state ${d.state} and ${handed.has(key) ? "" : "not "}handed over`);
  for (const h of bus.handouts) {
    must(h.peer.handouts.get(h.messageId) === h, () => `a hand-over of message ${h.messageId} is not its peer's`);
    must(
      !h.conn || (!h.conn.closed && h.conn.handouts.has(h)),
      () => `message ${h.messageId} is handed over on a connection that is closed`,
    );
    must(Number.isFinite(h.deadline), () => `message ${h.messageId} is handed over for ever`);
  }
}

function checkPeers(bus: Bus, deliveries: ReadonlyMap<string, Delivery>): void {
  const unread = new Map<number, number>();
  const waiting = new Map<number, number>();
  for (const d of deliveries.values()) {
    if (d.state <= delivered) unread.set(d.peerId, (unread.get(d.peerId) ?? 0) + 1);
    if (d.state === queued && d.mode === push && d.attempts < attemptsMax && d.pull === 0)
      waiting.set(d.peerId, (waiting.get(d.peerId) ?? 0) + 1);
  }
  for (const peer of bus.peers.all()) {
    const count = unread.get(peer.id) ?? 0;
    must(peer.unread < 0 || peer.unread === count, () => `${peer.handle} has ${count} unread, counted are ${peer.unread}`);
    if (waiting.get(peer.id)) {
      must(peer.mayHaveQueued, () => `${peer.handle} has queued pushes and is thought to have none`);
      must(!listens(peer), () => `${peer.handle} listens, and ${waiting.get(peer.id)} pushes stay queued`);
    }
  }
  for (const peerId of unread.keys()) must(bus.peers.get(peerId) !== undefined, () => `peer ${peerId} is gone and has unread messages`);
}

function listens(peer: Peer): boolean {
  return [...peer.conns].some((c) => c.listening && !c.dropped);
}

/** Peers, sessions, groups and connections are found in memory where the store and they themselves say that they are. */
function checkPlaces(bus: Bus): void {
  const { db } = bus.store;
  const peers = db.query("SELECT id, handle, owner FROM peers").values() as [number, string, number][];
  const { byId, byHandle } = bus.peers;
  // Those remembered, before asking for the others.
  for (const [key, peer] of [...byId, ...byHandle])
    must(
      (key === peer.id || key === peer.handle) && peers.some(([id, handle]) => id === peer.id && handle === peer.handle),
      () => `peer ${peer.id} is remembered as ${key}`,
    );
  must(byId.size === byHandle.size, () => `${byId.size} peers are remembered by id, ${byHandle.size} by handle`);
  for (const [id, handle, owner] of peers)
    must(
      bus.peers.get(id)?.handle === handle && bus.peers.named(handle)?.id === id && bus.peers.get(id)?.owner === (owner === 1),
      () => `peer ${id} is stored as ${handle}`,
    );
  const aliases = db.query("SELECT handle, peer_id FROM aliases").values() as [string, number][];
  must(aliases.length === bus.aliases.size, () => `${aliases.length} aliases are stored, ${bus.aliases.size} remembered`);
  for (const [handle, peerId] of aliases)
    must(bus.aliases.get(handle)?.peer.id === peerId && bus.peers.get(peerId) !== undefined, () => `the alias ${handle} of peer ${peerId}`);
  const live = db.query("SELECT id, peer_id FROM sessions WHERE ended_at IS NULL").values() as [number, number][];
  const remembered = [...bus.sessions.values()].filter((s) => s.endDueAt === 0).map((s) => `${s.id} ${s.peer.id}`);
  must(
    live
      .map(([id, peerId]) => `${id} ${peerId}`)
      .sort()
      .join() === remembered.sort().join(),
    () => `live sessions: stored ${live.join(" · ")}, remembered ${remembered.join(" · ")}`,
  );
  for (const session of bus.sessions.values())
    must(
      session.peer.session === session && bus.peers.get(session.peer.id) === session.peer,
      () => `session ${session.id} is not its peer's`,
    );
  const members = db.query("SELECT g.name, m.peer_id FROM groups g JOIN group_members m ON m.group_id = g.id ORDER BY 1, 2").values() as [
    string,
    number,
  ][];
  const inMemory = [...bus.groups.values()].flatMap((g) => [...g.members].map((p) => `${g.name},${p.id}`)).sort();
  must(members.map(String).sort().join() === inMemory.join(), () => `group members: stored ${members}, remembered ${inMemory}`);
  for (const conn of bus.conns) {
    must(!conn.peer || conn.peer.conns.has(conn), () => `connection ${conn.id} is not its peer's`);
    must(
      !conn.via || bus.peers.get(conn.via.id) === conn.via,
      () => `connection ${conn.id} speaks through ${conn.via?.handle}, which is gone`,
    );
  }
  for (const peer of bus.peers.all())
    for (const conn of peer.conns)
      must(!conn.closed && conn.peer === peer, () => `${peer.handle} keeps a connection that is closed or another's`);
  for (const wait of [...bus.waits.values()].flatMap((waits) => [...waits])) {
    must(wait.conn.wait === wait && !wait.conn.closed, () => `a wait on thread ${wait.threadId} has no connection`);
    must(wait.deadline > bus.system.monotonic() - 2_000, () => `a wait on thread ${wait.threadId} outlives its time`);
  }
}

/** The end of all things: nobody is left, every window has passed. */
export function checkEnd(bus: Bus, deliveries: ReadonlyMap<string, Delivery>): void {
  for (const [key, d] of deliveries) must(d.state !== sent, () => `${key} is sent for ever, over ${d.channel}`);
  must(bus.waits.size === 0, () => "a wait goes on for ever");
  must(
    [...deliveries.values()].every((d) => d.state <= acknowledged + 1),
    () => "a state that does not exist",
  );
}
