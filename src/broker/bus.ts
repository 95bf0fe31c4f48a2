// The broker's memory: who is there, what is handed over, who waits. Data only; the rooms around it are functions over it.
// Whatever a request changes here goes through `undo`, so that a turn whose COMMIT fails leaves no trace (semantics §2).
import type { ClientKind, ClientName, Limits } from "../protocol/constants.ts";
import { eventLine } from "../protocol/frames.ts";
import type { Notification, WatchPayload } from "../protocol/schemas.ts";
import type { ProcessId, System, TailMark } from "../system.ts";
import type { Directory } from "./directory.ts";
import type { CliPort, NativeOutcome, ProofReader } from "./ports.ts";
import { type Steps, wasNew, wasPut, wasSet } from "./steps.ts";
import type { Store } from "./store/store.ts";

export type PeerId = number;
export type MessageId = number;
export type ThreadId = number;

/** One handle and what is known of it. */
export type Peer = {
  id: PeerId;
  handle: string;
  display: string | null;
  role: string | null;
  client: ClientName | null;
  cwd: string | null;
  version: string | null;
  owner: boolean;
  used: boolean;
  lastSeenAt: number;
  /** Its live session, if any. */
  session: Session | null;
  /** How its last session ended (0 none did, 1 goodbye, 2 host gone), and when on the monotonic clock. */
  lastEnd: 0 | 1 | 2;
  endedAt: number;
  conns: Set<Conn>;
  /** Until then (monotonic) a peer without connection still counts as online. */
  graceUntil: number;
  /** Unread deliveries; -1 until they are counted. */
  unread: number;
  /** False only while it is sure that no queued push waits for a channel. */
  mayHaveQueued: boolean;
  handouts: Map<MessageId, Handout>;
  waits: Set<Wait>;
  groups: Set<Group>;
  /** Muted peer id (0 = everybody) → Unix ms; null until read from the store. */
  mutes: Map<PeerId, number> | null;
  /** Presence as last told to watchers. */
  told: string;
};

/** One live conversation in a CLI. */
export type Session = {
  id: number;
  peer: Peer;
  client: ClientName;
  cliSessionId: string;
  hostPid: number;
  hostStart: string;
  transcriptPath: string | null;
  title: string | null;
  cwd: string | null;
  pinned: boolean;
  headless: boolean;
  bypass: boolean;
  native: { socketPath: string; token: string } | null;
  /** The native channel failed or refused: hooks only until then, monotonic. */
  nativeOffUntil: number;
  /** What its hooks say: that it has the renn tools; how many subagents run whose tool calls look like its own. */
  tools: boolean;
  subagents: number;
  busy: boolean;
  /** Last event of any hook, monotonic. */
  lastEventAt: number;
  /** When a session-end takes effect (monotonic), or 0. */
  endDueAt: number;
  /** A stop hook made this turn go on already; and the messages that ever did so. */
  continued: boolean;
  stopGiven: Set<MessageId>;
  tail: { reader: ProofReader; mark: TailMark | null; path: string } | null;
};

/** One connection. The sink is the server's (or a test's). */
export type Conn = {
  id: number;
  sink: Sink;
  authed: boolean;
  authDeadline: number;
  peer: Peer | null;
  via: Peer | null;
  kind: ClientKind | null;
  listening: boolean;
  listenOrder: number;
  boundAt: number;
  version: string | null;
  watching: { threadId: ThreadId | null; peer: Peer | null } | null;
  /** The process tree of the other side, nearest first; looked up once. */
  tree: ProcessId[] | null;
  lines: QueuedLine[];
  /** A wait that holds back later lines. */
  wait: Wait | null;
  handouts: Set<Handout>;
  /** A queue is being written to it in parts. */
  filling: boolean;
  halfClosed: boolean;
  closing: boolean;
  /** It read too slowly: its end is on the way. */
  dropped: boolean;
  closed: boolean;
};
/** A line as text; null is one that was too long, undefined one that is not UTF-8. */
export type QueuedLine = string | null | undefined;

/** Where a connection's lines go, and what is known of its other side. */
export type Sink = {
  /** Takes a whole line; `taken` is called when the last byte has left the process. */
  write(line: string, taken?: () => void): void;
  /** Ends the connection after what was written. */
  end(): void;
  /** Ends the connection as soon as may be, without waiting for a reader that does not read. */
  drop(): void;
  /** Bytes that are written and not yet taken. */
  pending(): number;
  /** Pid of the connecting process, or null where the platform does not say. */
  pid: number | null;
};

export type Channel = "listener" | "native" | "wait" | "hook" | "fetch";

/** A delivery that a channel took and that is not yet proven. */
export type Handout = {
  messageId: MessageId;
  threadId: ThreadId;
  peer: Peer;
  channel: Channel;
  conn: Conn | null;
  /** Unix ms and monotonic ms of the hand-over. */
  at: number;
  atMono: number;
  deadline: number;
  /** The CLI shows it to the user first. */
  held: boolean;
};

/** An open wait. */
export type Wait = {
  conn: Conn;
  requestId: number;
  peer: Peer;
  threadId: ThreadId;
  askId: MessageId;
  all: boolean;
  deadline: number;
  early: boolean;
  confirm: boolean;
  recipients: Peer[];
  pending: Set<Peer>;
};

export type Group = { id: number; name: string; members: Set<Peer>; createdAt: number; createdBy: Peer };

/** News for one handle, gathered since `dueAt` minus the batch time. */
export type NewsBatch = { dueAt: number; items: Map<string, Notification> };

/** What the broker is started with. */
export type BusOptions = {
  system: System;
  store: Store;
  token: () => string;
  limits: Limits;
  ownerHandle: string;
  repliesToAll: boolean;
  retentionDays: number;
  ports: readonly CliPort[];
  version: string;
  log: (level: "error" | "warn" | "info" | "debug", event: string, data?: Record<string, unknown>) => void;
};

export type ThreadFacts = { latestSeq: number; latestMessageId: number; participants: Set<Peer> };

/** All of it. */
export type Bus = BusOptions & {
  /** Wall clock and monotonic clock of the running turn, in ms. */
  now: number;
  mono: number;
  boot: string;
  startedAt: number;
  conns: Set<Conn>;
  peers: Directory;
  aliases: Map<string, { peer: Peer; untilAt: number }>;
  owner: Peer;
  sessions: Map<string, Session>;
  byHost: Map<string, Set<Session>>;
  groups: Map<string, Group>;
  threads: Map<ThreadId, ThreadFacts>;
  waits: Map<ThreadId, Set<Wait>>;
  handouts: Set<Handout>;
  news: Map<Peer, NewsBatch>;
  watchers: Set<Conn>;
  /** Peers that may be something else than offline. */
  present: Set<Peer>;
  seen: Set<Peer>;
  windows: Windows;
  port: Map<ClientName, CliPort>;
  nextListenOrder: number;
  /** Earliest monotonic time at which something is due. */
  dueAt: number;
  nextHostCheckAt: number;
  nextProofAt: number;
  steps: Steps;
  out: { conn: Conn; line: string; taken: (() => void) | undefined; event: boolean }[];
  after: (() => void)[];
  counts: { requests: number; commits: number; timings: Float64Array; timingAt: number };
  house: House;
  /** Messages known to be the newest; ids are given by the broker. */
  nextMessageId: number;
  nextThreadId: number;
  /** Runs a step in a turn of its own, soon. */
  later(step: () => void): void;
  /** What a native channel says of a push, later and outside of a turn. */
  nativeReport(session: Session, ids: readonly MessageId[], outcome: NativeOutcome): void;
};

/** When housekeeping comes again (monotonic), and what it saw last. */
export type House = { nextAt: number; requestsSeen: number; retentionAt: number };

/** Rate, duplicate (in the order of their times) and ping-pong windows; all on the monotonic clock. */
export type Windows = {
  rate: Map<PeerId, number[]>;
  duplicates: Map<number, { at: number; messageId: MessageId }>;
  pairs: Map<string, { times: number[]; told: boolean }>;
};

/** Notes how to take back a change of memory if the turn fails. */
export function undo(bus: Bus, step: () => void): void {
  bus.steps.push(step);
}

/** Sets a property so that a failed turn takes it back. */
export function set<T extends object, K extends keyof T>(bus: Bus, target: T, key: K, value: T[K]): void {
  const old = target[key];
  if (old === value) return;
  target[key] = value;
  bus.steps.push(target, key, old, wasSet);
}

/** Adds to a set so that a failed turn takes it back. */
export function add<T>(bus: Bus, target: Set<T>, value: T): void {
  if (target.has(value)) return;
  target.add(value);
  bus.steps.push(target, value, wasNew);
}

/** Removes from a set so that a failed turn takes it back. */
export function remove<T>(bus: Bus, target: Set<T>, value: T): void {
  if (target.delete(value)) bus.steps.push(() => target.add(value));
}

/** Puts into a map so that a failed turn takes it back. */
export function put<K, V>(bus: Bus, target: Map<K, V>, key: K, value: V): void {
  if (target.has(key)) bus.steps.push(target, key, target.get(key), wasPut);
  else bus.steps.push(target, key, wasNew);
  target.set(key, value);
}

/** Takes out of a map so that a failed turn takes it back. */
export function drop<K, V>(bus: Bus, target: Map<K, V>, key: K): void {
  if (!target.has(key)) return;
  bus.steps.push(target, key, target.get(key), wasPut);
  target.delete(key);
}

/** Says that something is due at `at` (monotonic ms). */
export function due(bus: Bus, at: number): void {
  if (at < bus.dueAt) bus.dueAt = at;
}

/** Stages a line for a connection; it leaves after the commit. */
export function stage(bus: Bus, conn: Conn, line: string, taken?: () => void): void {
  bus.out.push({ conn, line, taken, event: false });
}

/** Stages the line of an event for a connection. */
export function stageEvent(bus: Bus, conn: Conn, line: string): void {
  bus.out.push({ conn, line, taken: undefined, event: true });
}

/** Tells the watchers that want it. `peers` are those whom it concerns. */
export function tellWatchers(bus: Bus, threadId: ThreadId | null, peers: readonly Peer[], payload: () => WatchPayload): void {
  let line: string | undefined;
  for (const conn of bus.watchers) {
    const want = conn.watching;
    if (!want || (want.threadId !== null && want.threadId !== threadId)) continue;
    if (want.peer && !peers.includes(want.peer)) continue;
    line ??= eventLine("watch", JSON.stringify(payload()));
    stageEvent(bus, conn, line);
  }
}
