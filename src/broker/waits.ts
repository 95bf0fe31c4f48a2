// Open waits: who waits for whose reply, and what ends a wait (semantics §7, §9).
import { ProtocolError } from "../protocol/errors.ts";
import { okLine } from "../protocol/frames.ts";
import type { Fields, Result, WaitNote } from "../protocol/schemas.ts";
import { cut, cutMark } from "../protocol/text.ts";
import { add, type Bus, type Conn, drop, due, type Peer, put, remove, set, stage, type Wait } from "./bus.ts";
import { circleNote, ringsOf, waitersOf } from "./circles.ts";
import { advance, handOver, pump, takeBack } from "./delivery.ts";
import { handleOf, hasTools, matrixOf, verdictWord } from "./messages.ts";
import { isHere } from "./presence.ts";
import type { MessageRow } from "./store/rows.ts";

/** The ask that `collect` and `wait` are about: `messageId`, else the caller's latest (wait), else the thread's latest. */
export function askOf(bus: Bus, threadId: number, messageId: number | undefined, sender: Peer | null): MessageRow {
  if (!bus.store.thread(threadId)) throw new ProtocolError("unknown_thread", `there is no thread ${threadId}`);
  if (messageId !== undefined) {
    const row = bus.store.message(messageId);
    if (!row) throw new ProtocolError("unknown_message", `there is no message ${messageId}`);
    if (row.thread_id !== threadId || row.reply_to !== null)
      throw new ProtocolError("bad_request", `messageId: message ${messageId} is no ask of thread ${threadId}`);
    return row;
  }
  const own = sender ? bus.store.latestAsk(threadId, sender.id) : null;
  const ask = own ?? bus.store.latestAsk(threadId, null);
  if (!ask) throw new ProtocolError("unknown_thread", `thread ${threadId} has no ask`);
  return ask;
}

/** The request `wait`: answers at once, or holds the connection's later lines until it ends. */
export function startWait(bus: Bus, conn: Conn, peer: Peer, requestId: number, f: Fields<"wait">): void {
  const ask = askOf(bus, f.threadId, f.messageId, peer);
  const matrix = matrixOf(bus, ask);
  const answered = new Set(matrix.flatMap((row) => (row.replyMessageId === null ? [] : [row.handle])));
  const recipients = matrix.flatMap((row) => bus.peers.named(row.handle) ?? []);
  const wait: Wait = {
    conn,
    requestId,
    peer,
    threadId: f.threadId,
    askId: ask.id,
    all: f.until === "all_replied",
    deadline: bus.mono + Math.min(f.timeoutMs ?? bus.limits.waitDefaultMs, bus.limits.waitMaxMs),
    early: f.early ?? false,
    confirm: f.confirm ?? false,
    recipients,
    pending: new Set(recipients.filter((p) => !answered.has(p.handle))),
  };
  let here = bus.waits.get(f.threadId);
  if (!here) {
    here = new Set();
    put(bus, bus.waits, f.threadId, here);
  }
  add(bus, here, wait);
  for (const who of waitersOf(wait)) add(bus, who.waits, wait);
  set(bus, conn, "wait", wait);
  due(bus, wait.deadline);
  if (isMet(wait)) return endWait(bus, wait, {});
  if (wait.deadline <= bus.mono) return endWait(bus, wait, { timedOut: true });
  checkWaits(bus);
}

function isMet(wait: Wait): boolean {
  return wait.all ? wait.pending.size === 0 : wait.pending.size < wait.recipients.length;
}

/** Whether a peer has an open wait on the thread that will be given a reply to `askId`; such a reply is not pushed as well. */
export function waitFor(bus: Bus, peer: Peer, threadId: number, askId: number | null): Wait | null {
  for (const wait of bus.waits.get(threadId) ?? []) if (wait.askId === askId && waitersOf(wait).includes(peer)) return wait;
  return null;
}

/** A reply was stored: waits for it move on. `speakers` are the replier and its via. */
export function replyArrived(bus: Bus, threadId: number, askId: number | null, speakers: readonly Peer[]): void {
  for (const wait of [...(bus.waits.get(threadId) ?? [])]) {
    if (wait.askId !== askId) continue;
    for (const speaker of speakers) remove(bus, wait.pending, speaker);
    if (isMet(wait)) endWait(bus, wait, {});
  }
  // The last who could answer may just have done so.
  if (bus.waits.has(threadId)) checkWaits(bus);
}

/** A message was withdrawn from a peer: nobody waits for that answer any more. */
export function withdrawn(bus: Bus, ask: MessageRow, peer: Peer): void {
  for (const wait of [...(bus.waits.get(ask.thread_id) ?? [])]) {
    if (wait.askId !== ask.id) continue;
    remove(bus, wait.pending, peer);
    set(
      bus,
      wait,
      "recipients",
      wait.recipients.filter((p) => p !== peer),
    );
    if (isMet(wait)) endWait(bus, wait, {});
  }
  if (bus.waits.has(ask.thread_id)) checkWaits(bus);
}

type Ending = { timedOut?: boolean; note?: WaitNote };

/** Answers a wait and takes it away. */
export function endWait(bus: Bus, wait: Wait, ending: Ending): void {
  const ask = bus.store.message(wait.askId);
  const { conn } = wait;
  forgetWait(bus, wait);
  if (!ask) return stage(bus, conn, okLine(wait.requestId, "{}"));
  const replies = bus.store.repliesTo(wait.threadId, wait.askId);
  const result: Result<"wait"> = {
    threadId: wait.threadId,
    conditionMet: isMet(wait),
    timedOut: ending.timedOut ?? false,
    matrix: matrixOf(bus, ask),
    askMessageId: wait.askId,
    replies: replies.filter((r) => r.sender_id !== wait.peer.id).map((r) => replyView(bus, r, hasTools(wait.peer))),
    notes: [...notesOf(bus, wait, ask), ...(ending.note ? [ending.note] : [])],
  };
  const given = replies.filter((r) => handReplyOver(bus, wait, r)).map((r) => r.id);
  const taken = wait.confirm || !given.length ? undefined : () => bus.later(() => confirmTaken(bus, wait, given));
  stage(bus, conn, okLine(wait.requestId, JSON.stringify(result)), taken);
}

function replyView(bus: Bus, row: MessageRow, tools: boolean): Result<"wait">["replies"][number] {
  const whole = bus.store.body(row.id);
  const shown = cut(whole, bus.limits.bodyCharactersMax);
  const view = { id: row.id, seq: row.seq, from: handleOf(bus, row.sender_id), verdict: verdictWord(row.verdict) };
  if (shown.length === whole.length) return { ...view, body: whole };
  return { ...view, body: `${shown}\n${cutMark({ id: row.id, length: row.length }, tools)}`, truncated: true };
}

/** The waiting peer's own delivery of a reply goes over by this answer, if nothing else has it. */
function handReplyOver(bus: Bus, wait: Wait, reply: MessageRow): boolean {
  let given = false;
  for (const who of waitersOf(wait)) {
    const held = who.handouts.get(reply.id);
    if (held?.channel === "wait") {
      set(bus, held, "held", false);
      set(bus, held, "deadline", bus.mono + bus.limits.proofWindowMs);
      due(bus, held.deadline);
      given = true;
    } else if (handOver(bus, who, reply.id, reply.thread_id, "wait", wait.conn)) given = true;
  }
  return given;
}

function confirmTaken(bus: Bus, wait: Wait, messageIds: readonly number[]): void {
  for (const who of waitersOf(wait))
    for (const id of messageIds) if (who.handouts.get(id)?.channel === "wait") advance(bus, id, who, "delivered", "confirmed");
}

/** Who has it and has not answered, who has not confirmed it, and who has left. */
function notesOf(bus: Bus, wait: Wait, ask: MessageRow): WaitNote[] {
  if (isMet(wait) && wait.all) return [];
  const rows = new Map(bus.store.deliveries(ask.id).map((d) => [d.peer_id, d.state]));
  const pending = [...wait.pending];
  const here = pending.filter((p) => isHere(bus, p));
  const groups: WaitNote[] = [
    { kind: "unanswered", handles: here.filter((p) => (rows.get(p.id) ?? 0) >= 2).map((p) => p.handle) },
    { kind: "unconfirmed", handles: here.filter((p) => (rows.get(p.id) ?? 0) < 2).map((p) => p.handle) },
    { kind: "offline", handles: pending.filter((p) => !here.includes(p)).map((p) => p.handle) },
  ];
  return groups.filter((note) => note.handles.length);
}

function forgetWait(bus: Bus, wait: Wait): void {
  const here = bus.waits.get(wait.threadId);
  if (here) {
    remove(bus, here, wait);
    if (!here.size) drop(bus, bus.waits, wait.threadId);
  }
  for (const who of waitersOf(wait)) remove(bus, who.waits, wait);
  set(bus, wait.conn, "wait", null);
}

/** A connection closed: its wait goes. Replies held for it pass to another wait of the same peer, else they go back. */
export function cancelWait(bus: Bus, wait: Wait): void {
  forgetWait(bus, wait);
  for (const who of waitersOf(wait)) {
    const other = waitFor(bus, who, wait.threadId, wait.askId);
    for (const handout of [...who.handouts.values()]) {
      if (handout.channel !== "wait" || handout.conn !== wait.conn || !handout.held) continue;
      if (!other) takeBack(bus, handout, "closed", false);
      else {
        remove(bus, wait.conn.handouts, handout);
        set(bus, handout, "conn", other.conn);
        add(bus, other.conn.handouts, handout);
      }
    }
    pump(bus, who);
  }
}

/** Waits whose time is over. Returns the next deadline. */
export function expireWaits(bus: Bus): number {
  let next = Number.POSITIVE_INFINITY;
  for (const waits of [...bus.waits.values()])
    for (const wait of [...waits]) {
      if (wait.deadline <= bus.mono) endWait(bus, wait, { timedOut: true });
      else next = Math.min(next, wait.deadline);
    }
  return next;
}

/** Early waits end when nobody is left who could answer, or when waits form a circle. */
export function checkWaits(bus: Bus): void {
  const ending: { wait: Wait; note: WaitNote }[] = [];
  const rings = ringsOf(bus);
  for (const waits of bus.waits.values())
    for (const wait of waits) {
      const note = wait.early ? (goneNote(bus, wait) ?? circleNote(wait, rings)) : null;
      if (note) ending.push({ wait, note });
    }
  // All are found before the first ends: without it the others of its circle would no longer be in one, and wait on.
  for (const { wait, note } of ending) endWait(bus, wait, { note });
}

function goneNote(bus: Bus, wait: Wait): WaitNote | null {
  // A session that has just ended may be clearing: it counts as gone when its grace is over.
  if (!wait.pending.size || [...wait.pending].some((p) => p.session !== null || isHere(bus, p))) return null;
  return { kind: "gone", handles: [...wait.pending].map((p) => p.handle) };
}
