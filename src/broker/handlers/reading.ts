// Reading and confirming: delivered, ack, read, inbox, thread, collect (semantics §7, §9).
import { answerBytesMax } from "../../protocol/constants.ts";
import { ProtocolError } from "../../protocol/errors.ts";
import type { Fields, Result, Summary } from "../../protocol/schemas.ts";
import type { Bus, Conn, Peer } from "../bus.ts";
import { advance, unreadOf } from "../delivery.ts";
import { peeks } from "../identity.ts";
import { handleOf, matrixOf, ownState, stateWord, summaryOf } from "../messages.ts";
import type { MessageRow } from "../store/rows.ts";
import { threadFacts } from "../threads.ts";
import { askOf } from "../waits.ts";

const inboxThreadsMax = 50;

/** The caller's deliveries, or nothing moves at all. */
function ownDeliveries(bus: Bus, peer: Peer, ids: readonly number[]): void {
  for (const id of ids)
    if (!bus.store.delivery(id, peer.id))
      throw new ProtocolError("unknown_message", `message ${id} was not sent to ${peer.handle}; nothing was changed`);
}

/** Moves the caller's deliveries, and those of the session through which the owner speaks. */
function advanceOwn(bus: Bus, conn: Conn, peer: Peer, id: number, to: "delivered" | "acknowledged", outcome: "confirmed" | "read"): void {
  advance(bus, id, peer, to, outcome);
  if (conn.via) advance(bus, id, conn.via, to, outcome);
}

/** The request `delivered`. */
export function delivered(bus: Bus, _conn: Conn, peer: Peer, f: Fields<"delivered">): Result<"delivered"> {
  ownDeliveries(bus, peer, f.ids);
  for (const id of f.ids) advance(bus, id, peer, "delivered", "confirmed");
  return { delivered: [...new Set(f.ids)] };
}

/** The request `ack`. */
export function ack(bus: Bus, conn: Conn, peer: Peer, f: Fields<"ack">): Result<"ack"> {
  ownDeliveries(bus, peer, f.ids);
  for (const id of f.ids) advanceOwn(bus, conn, peer, id, "acknowledged", "confirmed");
  return { acknowledged: [...new Set(f.ids)] };
}

/** Gathers summaries until an answer is full. */
class Page {
  readonly messages: Summary[] = [];
  private bytes = 0;
  /** Counts what else stands in the answer. */
  count(value: unknown): void {
    this.bytes += Buffer.byteLength(JSON.stringify(value)) + 1;
  }
  /** False when the answer is full and the message was left out. The first always goes in. */
  add(message: Summary): boolean {
    const before = this.bytes;
    this.count(message);
    if (this.messages.length && this.bytes > answerBytesMax - 65_536) {
      this.bytes = before;
      return false;
    }
    this.messages.push(message);
    return true;
  }
}

/** The last message of a page shows the state that its being read gave it. */
function refreshState(bus: Bus, page: Page, row: MessageRow, peer: Peer): void {
  const last = page.messages.at(-1);
  const state = ownState(bus, row, peer);
  if (last && state !== null) last.state = stateWord(state);
}

/** The request `read`: any message in full; only the caller's own deliveries move, and not for one who only looks. */
export function read(bus: Bus, conn: Conn, peer: Peer, f: Fields<"read">): Result<"read"> {
  const rows = f.ids.map((id) => {
    const row = bus.store.fullMessage(id);
    if (!row) throw new ProtocolError("unknown_message", `there is no message ${id}; nothing was changed`);
    return row;
  });
  const page = new Page();
  const moves = !peeks(bus, conn);
  for (const row of rows) {
    // What the answer has no room for was not read.
    if (!page.add(summaryOf(bus, row, ownState(bus, row, peer), row.body))) return { messages: page.messages, more: true, nextId: row.id };
    if (moves) advanceOwn(bus, conn, peer, row.id, "delivered", "read");
    refreshState(bus, page, row, peer);
  }
  return { messages: page.messages };
}

/** The request `inbox`. */
export function inbox(bus: Bus, _conn: Conn, peer: Peer, f: Fields<"inbox">): Result<"inbox"> {
  const unread = new Map<number, (MessageRow & { state: number })[]>();
  for (const row of bus.store.unread(peer.id)) {
    const list = unread.get(row.thread_id);
    if (list) list.push(row);
    else unread.set(row.thread_id, [row]);
  }
  const ids = new Set(unread.keys());
  if (!f.unreadOnly) for (const id of recentThreadIds(bus, peer)) ids.add(id);
  const facts = [...ids].flatMap((id) => {
    const known = threadFacts(bus, id);
    return known ? [{ id, known }] : [];
  });
  facts.sort((a, b) => b.known.latestMessageId - a.known.latestMessageId);
  const page = new Page();
  const threads: Result<"inbox">["threads"] = [];
  for (const { id, known } of f.unreadOnly ? facts : facts.slice(0, inboxThreadsMax)) {
    const latest = bus.store.message(known.latestMessageId);
    if (!latest) continue;
    const rows = unread.get(id) ?? [];
    const head = { threadId: id, unread: rows.length, latestSeq: known.latestSeq, lastAt: latest.at };
    const thread = { ...head, from: handleOf(bus, latest.sender_id), firstLine: latest.first_line };
    page.count(thread);
    const messages: Summary[] = [];
    for (const row of rows) {
      const message = summaryOf(bus, row, row.state);
      if (!page.add(message)) break;
      messages.push(message);
    }
    if (messages.length || !rows.length) threads.push({ ...thread, messages });
    if (messages.length < rows.length) return { handle: peer.handle, unreadTotal: unreadOf(bus, peer), threads, more: true, nextId: id };
  }
  return { handle: peer.handle, unreadTotal: unreadOf(bus, peer), threads };
}

/** Threads of the newest deliveries of a peer. A thread with very many deliveries in a row cannot make this walk far. */
function recentThreadIds(bus: Bus, peer: Peer): Set<number> {
  const ids = new Set<number>();
  let before = Number.MAX_SAFE_INTEGER;
  for (let step = 0; step < 20 && ids.size < inboxThreadsMax; step++) {
    const rows = bus.store.recentDeliveries(peer.id, before, 200);
    for (const row of rows) if (ids.size < inboxThreadsMax) ids.add(row.thread_id);
    const last = rows.at(-1);
    if (!last || rows.length < 200) break;
    before = last.message_id;
  }
  return ids;
}

/** The request `thread`. */
export function thread(bus: Bus, conn: Conn, peer: Peer, f: Fields<"thread">): Result<"thread"> {
  const known = threadFacts(bus, f.threadId);
  if (!known) throw new ProtocolError("unknown_thread", `there is no thread ${f.threadId}`);
  const full = f.full === true || f.messageId !== undefined;
  const moves = full && !peeks(bus, conn);
  const page = new Page();
  const answer = { threadId: f.threadId, latestSeq: known.latestSeq };
  for (const row of threadRows(bus, f)) {
    if (!page.add(summaryOf(bus, row, ownState(bus, row, peer), full ? bus.store.body(row.id) : undefined)))
      return { ...answer, messages: page.messages, more: true, nextSeq: row.seq - 1 };
    if (!moves) continue;
    advanceOwn(bus, conn, peer, row.id, "delivered", "read");
    refreshState(bus, page, row, peer);
  }
  return { ...answer, messages: page.messages };
}

function threadRows(bus: Bus, f: Fields<"thread">): MessageRow[] {
  const rows = bus.store.threadMessages(f.threadId, f.sinceSeq ?? 0);
  if (f.messageId === undefined) return rows;
  const { messageId } = f;
  const row = bus.store.message(messageId);
  if (!row) throw new ProtocolError("unknown_message", `there is no message ${messageId}`);
  if (row.thread_id !== f.threadId)
    throw new ProtocolError("bad_request", `messageId: message ${messageId} is in thread ${row.thread_id}, not ${f.threadId}`);
  return rows.filter((r) => r.id === messageId || r.reply_to === messageId);
}

/** The request `collect`. */
export function collect(bus: Bus, _conn: Conn, _peer: Peer, f: Fields<"collect">): Result<"collect"> {
  const ask = askOf(bus, f.threadId, f.messageId, null);
  const recipients = matrixOf(bus, ask);
  const verdictTally = { agree: 0, disagree: 0, info: 0, pending: 0 };
  for (const row of recipients) {
    if (row.verdict) verdictTally[row.verdict]++;
    else if (row.replyMessageId === null) verdictTally.pending++;
  }
  return { threadId: f.threadId, askMessageId: ask.id, recipients, verdictTally };
}
