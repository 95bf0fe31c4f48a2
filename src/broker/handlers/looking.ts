// Looking at the bus: status, threads, search, export, watch, why, stats, whoami. All but status are renn's own (docs/protocol.md, additions).
import { answerBytesMax, attemptsMax, type ClientName } from "../../protocol/constants.ts";
import { ProtocolError } from "../../protocol/errors.ts";
import type { Attempt, Fields, PeerRecord, Result } from "../../protocol/schemas.ts";
import { type Bus, type Conn, type Peer, set } from "../bus.ts";
import { unreadOf } from "../delivery.ts";
import { peeks } from "../identity.ts";
import { handleOf, modeWord, ownState, stateWord, summaryOf } from "../messages.ts";
import { needPeer } from "../peers.ts";
import { isHere, portOf, presenceOf, reachOf } from "../presence.ts";
import type { DeliveryRow, MessageRow } from "../store/rows.ts";
import { threadFacts } from "../threads.ts";

/** The request `status`. */
export function status(bus: Bus, f: Fields<"status">): Result<"status"> {
  const here = [...new Set([bus.owner, ...bus.present])].filter((p) => isHere(bus, p));
  const all = peerPage(bus, f.live ? here : bus.peers.all());
  // Where not all have room, who is here comes first.
  return all.more && !f.live ? peerPage(bus, [...new Set([...here, ...bus.peers.all()])]) : all;
}

function peerPage(bus: Bus, list: readonly Peer[]): Result<"status"> {
  const peers: PeerRecord[] = [];
  let units = 0;
  for (const peer of list) {
    const record = peerRecord(bus, peer);
    units += JSON.stringify(record).length;
    // Most of it is plain text; what is not takes up to three bytes a unit.
    if (units > answerBytesMax / 3) return { now: bus.now, peers, more: true };
    peers.push(record);
  }
  return { now: bus.now, peers };
}

function peerRecord(bus: Bus, peer: Peer): PeerRecord {
  const { handle, display, role, client, cwd, owner, lastSeenAt, version } = peer;
  const unread = unreadOf(bus, peer);
  const unanswered = unread > 0 ? bus.store.countUnanswered(peer.id) : 0;
  return { handle, display, role, client, cwd, presence: presenceOf(bus, peer), owner, unread, unanswered, lastSeenAt, version };
}

/** The request `threads`. */
export function threads(bus: Bus, _conn: Conn, caller: Peer, f: Fields<"threads">): Result<"threads"> {
  const limit = f.limit ?? 20;
  const unread = new Map<number, number>();
  for (const row of bus.store.unread(caller.id)) unread.set(row.thread_id, (unread.get(row.thread_id) ?? 0) + 1);
  const rows = f.handle === undefined ? bus.store.recentThreads(limit) : bus.store.recentThreadsOf(needPeer(bus, f.handle).id, limit);
  rows.sort((a, b) => b.latest_message_id - a.latest_message_id);
  return {
    threads: rows.flatMap((row) => {
      const first = bus.store.messageBySeq(row.id, 1);
      const last = bus.store.message(row.latest_message_id);
      if (!first || !last) return [];
      return {
        threadId: row.id,
        latestSeq: row.latest_seq,
        lastAt: last.at,
        openedBy: handleOf(bus, first.sender_id),
        from: handleOf(bus, last.sender_id),
        firstLine: first.first_line,
        lastLine: last.first_line,
        participants: [...(threadFacts(bus, row.id)?.participants ?? [])].map((p) => p.handle),
        unread: unread.get(row.id) ?? 0,
      };
    }),
  };
}

/** One search puts at most so many new messages into the index, so that it does not hold the bus up; idle steps do the rest. */
const searchStep = 1000;
const searchStepsMax = 10;

/** The request `search`. What was sent a moment ago is found too: the index is filled first. */
export function search(bus: Bus, _conn: Conn, caller: Peer, f: Fields<"search">): Result<"search"> {
  const incomplete = !searchIsFilled(bus);
  // Each word as a quoted string: nothing of the text is taken as query syntax. Control characters part words, since a NUL would end the query in a string.
  const words = f.text.split(/[\s\p{Cc}]+/u).filter((word) => /[\p{L}\p{N}]/u.test(word));
  if (!words.length) throw new ProtocolError("bad_request", "text: needs at least one word of letters or digits");
  const match = words.map((word) => `"${word.replaceAll('"', '""')}"`).join(" ");
  const rows = bus.store.search(match, f.threadId ?? null, f.limit ?? 20);
  const results = rows.map((row) => ({ ...summaryOf(bus, row, ownState(bus, row, caller)), snippet: excerpt(row.head, words) }));
  return incomplete ? { results, incomplete } : { results };
}

const excerptBefore = 60;
const excerptUnits = 200;

/** The place of the first word that is found in a body's beginning, its words between «»; SQLite's own snippet takes time by the square of a body. */
function excerpt(head: string, words: readonly string[]): string {
  const lower = head.toLowerCase();
  const places = words.map((word) => lower.indexOf(word.toLowerCase())).filter((at) => at >= 0);
  const from = Math.max(0, Math.min(...places, head.length) - excerptBefore);
  const start = places.length ? from : 0;
  const text = head.slice(start, start + excerptUnits).toWellFormed();
  const marks = new RegExp(words.map((word) => RegExp.escape(word)).join("|"), "giu");
  return `${start > 0 ? "…" : ""}${text.replace(marks, "«$&»")}${start + excerptUnits < head.length ? "…" : ""}`;
}

/** Fills the index as far as one request may; true when everything is in it. */
function searchIsFilled(bus: Bus): boolean {
  for (let step = 0; step < searchStepsMax; step++) if (bus.store.fillSearch(searchStep) < searchStep) return true;
  return false;
}

const exportStep = 500;

/** The request `export`. */
export function exportMessages(bus: Bus, _conn: Conn, _caller: Peer, f: Fields<"export">): Result<"export"> {
  if (f.threadId !== undefined && !threadFacts(bus, f.threadId))
    throw new ProtocolError("unknown_thread", `there is no thread ${f.threadId}`);
  const messages: Result<"export">["messages"] = [];
  let bytes = 0;
  let after = f.sinceId ?? 0;
  for (;;) {
    const rows =
      f.threadId === undefined ? bus.store.messagesAfter(after, exportStep) : bus.store.threadMessagesAfter(f.threadId, after, exportStep);
    for (const row of rows) {
      const message = exported(bus, row);
      bytes += Buffer.byteLength(JSON.stringify(message)) + 1;
      if (messages.length && bytes > answerBytesMax - 65_536) return { messages, more: true, nextId: after };
      messages.push(message);
      after = row.id;
    }
    if (rows.length < exportStep) return { messages };
  }
}

function exported(bus: Bus, row: MessageRow): Result<"export">["messages"][number] {
  const deliveries = bus.store
    .deliveries(row.id)
    .map((d) => ({ handle: handleOf(bus, d.peer_id), state: stateWord(d.state), mode: modeWord(d.mode) }));
  return { ...summaryOf(bus, row, null, bus.store.body(row.id)), deliveries };
}

/** The request `watch`. */
export function watch(bus: Bus, conn: Conn, _caller: Peer, f: Fields<"watch">): Record<string, never> {
  if (f.threadId !== undefined && !threadFacts(bus, f.threadId))
    throw new ProtocolError("unknown_thread", `there is no thread ${f.threadId}`);
  set(bus, conn, "watching", { threadId: f.threadId ?? null, peer: f.handle === undefined ? null : needPeer(bus, f.handle) });
  bus.watchers.add(conn);
  return {};
}

/** The request `whoami`. */
export function whoami(bus: Bus, conn: Conn, caller: Peer): Result<"whoami"> {
  return {
    handle: caller.handle,
    owner: caller.owner,
    via: conn.via?.handle ?? null,
    display: caller.display,
    role: caller.role,
    client: caller.client,
    cwd: caller.cwd,
    presence: presenceOf(bus, caller),
    reach: reachOf(bus, caller),
    pinned: caller.session?.pinned ?? false,
    peek: peeks(bus, conn),
    groups: [...caller.groups].map((g) => g.name),
    unread: unreadOf(bus, caller),
    muted: mutedOf(bus, caller),
  };
}

/** Whom a peer has muted, and until when. */
export function mutedOf(bus: Bus, peer: Peer): Result<"mute">["muted"] {
  return bus.store
    .mutes(peer.id)
    .filter((m) => m.until_at > bus.now)
    .map((m) => ({ handle: m.muted_id === 0 ? null : handleOf(bus, m.muted_id), until: m.until_at }));
}

/** The request `why`. */
export function why(bus: Bus, _conn: Conn, _caller: Peer, f: Fields<"why">): Result<"why"> {
  const row = bus.store.message(f.messageId);
  if (!row) throw new ProtocolError("unknown_message", `there is no message ${f.messageId}`);
  const only = f.handle === undefined ? null : needPeer(bus, f.handle);
  const deliveries = bus.store.deliveries(row.id).filter((d) => !only || d.peer_id === only.id);
  if (only && !deliveries.length) throw new ProtocolError("unknown_message", `message ${f.messageId} was not sent to ${only.handle}`);
  return {
    messageId: row.id,
    threadId: row.thread_id,
    from: handleOf(bus, row.sender_id),
    at: row.at,
    deliveries: deliveries.map((d) => whyOne(bus, d)),
  };
}

function whyOne(bus: Bus, d: DeliveryRow): Result<"why">["deliveries"][number] {
  const peer = bus.peers.get(d.peer_id);
  const attempts = (JSON.parse(`[${d.history ?? ""}]`) as [Attempt["channel"], number, Attempt["outcome"], number][]).map(
    ([channel, at, outcome, endedAt]): Attempt => ({ channel, at, outcome, endedAt }),
  );
  const open = peer?.handouts.get(d.message_id);
  if (open)
    attempts.push({ channel: open.channel, at: open.at, outcome: open.held && open.channel === "native" ? "held" : "open", endedAt: null });
  return {
    handle: handleOf(bus, d.peer_id),
    state: stateWord(d.state),
    since: d.state_at,
    mode: modeWord(d.mode),
    presence: peer ? presenceOf(bus, peer) : "offline",
    reach: peer ? reachOf(bus, peer) : "when-back",
    client: peer ? ((peer.session?.client ?? peer.client) as ClientName | null) : null,
    attempts,
    best: peer ? bestFor(bus, peer) : "the peer is gone",
    advice: peer ? adviceFor(bus, d, peer) : "nobody has this handle any more",
  };
}

/** How soon its CLI can show a message at best. Who has none looks by commands, or listens with a program of their own. */
function bestFor(bus: Bus, peer: Peer): string {
  if (peer.session || peer.client) return portOf(bus, peer).best;
  return "whenever its inbox is looked at, or at once while a program of its own listens";
}

/** What a person can do now. */
function adviceFor(bus: Bus, d: DeliveryRow, peer: Peer): string {
  const open = peer.handouts.get(d.message_id);
  if (d.state >= 2) return d.state === 2 ? "nothing: it is there; the answer is up to the recipient" : "nothing: it is done";
  if (open?.held && open.channel === "native")
    return `answer the question that ${peer.handle}'s CLI shows about a message from another session`;
  if (d.state === 1) return "wait: it was handed over and its proof is still open";
  if (d.attempts >= attemptsMax)
    return `it was handed over ${d.attempts} times without proof; ${peer.handle} finds it with: renn inbox, renn read ${d.message_id}`;
  if (d.mode === 2) return `it was sent (or is muted) as silent: ${peer.handle} finds it in its inbox`;
  if (!peer.session && !peer.client) return `wait until somebody looks: ${peer.handle} is no session, and finds it with: renn inbox`;
  if (!isHere(bus, peer)) return `start or resume the session of ${peer.handle}; it comes at its first turn`;
  return `type anything in the session of ${peer.handle}: it comes with the next prompt or tool call`;
}

/** The request `stats`. */
export function stats(bus: Bus): Result<"stats"> {
  const self = bus.system.self();
  const states = new Map(bus.store.unreadByState().map((row) => [row.state, row.n]));
  const timings = bus.counts.timings.slice(0, Math.min(bus.counts.timingAt, bus.counts.timings.length)).sort();
  const at = (share: number) => Math.round(timings[Math.min(timings.length - 1, Math.floor(timings.length * share))] ?? 0);
  return {
    version: bus.version,
    pid: self.pid,
    startedAt: bus.startedAt,
    connections: bus.conns.size,
    sessions: bus.sessions.size,
    listeners: [...bus.conns].filter((c) => c.listening).length,
    waits: [...bus.waits.values()].reduce((n, waits) => n + waits.size, 0),
    handedOver: bus.handouts.size,
    unreadByState: { queued: states.get(0) ?? 0, sent: states.get(1) ?? 0, delivered: states.get(2) ?? 0 },
    oldestQueuedAt: bus.store.oldestQueuedAt(),
    messages: bus.nextMessageId - 1,
    requests: bus.counts.requests,
    commits: bus.counts.commits,
    handlingP50Us: at(0.5),
    handlingP99Us: at(0.99),
    memoryBytes: self.memoryBytes,
  };
}
