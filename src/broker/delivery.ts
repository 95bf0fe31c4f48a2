// The state machine of a delivery (semantics §7), and the hand-over to channels.
//
//   queued ──hand-over──▶ sent ──proof, confirm, read──▶ delivered ──ack──▶ acknowledged ──reply──▶ replied
//     ▲                    │                              (replies and notify lines acknowledge themselves)
//     └──no proof, closed──┘                               every state may go straight to a later one
//
// Each move is one guarded UPDATE; nothing goes backwards but sent → queued.
import { attemptsMax, hookMessagesMax } from "../protocol/constants.ts";
import { eventLine } from "../protocol/frames.ts";
import type { Attempt } from "../protocol/schemas.ts";
import {
  add,
  type Bus,
  type Channel,
  type Conn,
  due,
  type Handout,
  type Peer,
  put,
  type Session,
  set,
  stageEvent,
  tellWatchers,
  undo,
} from "./bus.ts";
import { hasTools, modeWord, stateWord, summaryOf, textFor } from "./messages.ts";
import { notify } from "./news.ts";
import { nativeFor, newestListener, portOf, viewOf } from "./presence.ts";
import type { DeliveryRow, QueuedRow } from "./store/rows.ts";
import { startTail } from "./tails.ts";

type Outcome = Attempt["outcome"];
const queued = 0;
const sent = 1;
const delivered = 2;
const acknowledged = 3;
const replied = 4;
const notifyMode = 1;

/** The highest state from which a delivery may move to each of these. */
const movesFrom: Record<number, number> = { [delivered]: sent, [acknowledged]: delivered, [replied]: acknowledged };

/** A peer's unread deliveries; counted once, then kept. */
export function unreadOf(bus: Bus, peer: Peer): number {
  if (peer.unread < 0) set(bus, peer, "unread", bus.store.countUnread(peer.id));
  return peer.unread;
}

/** Counts a delivery in or out of a peer's unread ones. */
export function countUnread(bus: Bus, peer: Peer, change: number): void {
  if (peer.unread >= 0) set(bus, peer, "unread", peer.unread + change);
}

/**
 * Moves a delivery on to delivered, acknowledged or replied. A reply or a notify line acknowledges itself on being delivered.
 * False when the peer has no such delivery, or when it is there or past it already.
 */
export function advance(bus: Bus, messageId: number, peer: Peer, to: "delivered" | "acknowledged" | "replied", outcome: Outcome): boolean {
  const row = bus.store.delivery(messageId, peer.id);
  if (!row) return false;
  const wanted =
    to === "delivered"
      ? row.is_reply || row.mode === notifyMode
        ? acknowledged
        : delivered
      : to === "acknowledged"
        ? acknowledged
        : replied;
  const most = to === "delivered" ? sent : (movesFrom[wanted] ?? 0);
  if (row.state > most) return false;
  bus.store.moveDelivery(messageId, peer.id, wanted, bus.now, queued, most);
  const handout = peer.handouts.get(messageId);
  if (handout) closeHandout(bus, handout, outcome);
  if (row.state <= delivered && wanted > delivered) countUnread(bus, peer, -1);
  if (row.waited && row.state <= sent) tellSenderOfArrival(bus, row, peer);
  tellState(bus, row, peer, wanted);
  return true;
}

function tellSenderOfArrival(bus: Bus, row: DeliveryRow, peer: Peer): void {
  const message = bus.store.message(row.message_id);
  const sender = message && bus.peers.get(message.sender_id);
  if (sender)
    notify(bus, sender, { kind: "queued_delivered", threadId: row.thread_id, fromHandle: peer.handle, messageId: row.message_id });
}

function tellState(bus: Bus, row: DeliveryRow, peer: Peer, state: number): void {
  tellWatchers(bus, row.thread_id, [peer], () => ({
    kind: "state",
    messageId: row.message_id,
    threadId: row.thread_id,
    handle: peer.handle,
    state: stateWord(state),
    at: bus.now,
  }));
}

/** Ends a hand-over: out of memory, its outcome into the history. */
function closeHandout(bus: Bus, handout: Handout, outcome: Outcome): void {
  const { peer, messageId, conn } = handout;
  bus.handouts.delete(handout);
  peer.handouts.delete(messageId);
  conn?.handouts.delete(handout);
  undo(bus, () => openHandout(bus, handout));
  bus.store.addHistory(messageId, peer.id, JSON.stringify([handout.channel, handout.at, outcome, bus.now]));
}

function openHandout(bus: Bus, handout: Handout): void {
  bus.handouts.add(handout);
  handout.peer.handouts.set(handout.messageId, handout);
  handout.conn?.handouts.add(handout);
}

/** Remembers a hand-over that the store already knows. */
export function rememberHandout(
  bus: Bus,
  peer: Peer,
  messageId: number,
  threadId: number,
  channel: Channel,
  conn: Conn | null,
  at = bus.now,
): Handout {
  const deadline = bus.mono + bus.limits.proofWindowMs;
  const handout: Handout = { messageId, threadId, peer, channel, conn, at, atMono: bus.mono, deadline, held: false };
  add(bus, bus.handouts, handout);
  put(bus, peer.handouts, messageId, handout);
  if (conn) add(bus, conn.handouts, handout);
  due(bus, deadline);
  return handout;
}

/** queued → sent over a channel. False when somebody was faster. */
export function handOver(bus: Bus, peer: Peer, messageId: number, threadId: number, channel: Channel, conn: Conn | null): boolean {
  const mark = channel === "wait" ? null : startTail(bus, peer.session);
  const row = bus.store.handOver(messageId, peer.id, channel, bus.now, mark);
  if (!row) return false;
  rememberHandout(bus, peer, messageId, threadId, channel, conn);
  tellState(bus, row, peer, sent);
  return true;
}

/** sent → queued: a hand-over came to nothing. With `pull` only hooks, fetches and new listeners take it again. */
export function takeBack(bus: Bus, handout: Handout, outcome: Outcome, pull: boolean): void {
  const { peer, messageId } = handout;
  closeHandout(bus, handout, outcome);
  const row = bus.store.requeue(messageId, peer.id, bus.now, pull);
  set(bus, peer, "mayHaveQueued", true);
  if (row) tellState(bus, row, peer, queued);
}

/** Everything that a connection took and did not confirm goes back. */
export function takeBackAll(bus: Bus, handouts: Iterable<Handout>, outcome: Outcome): Set<Peer> {
  const peers = new Set<Peer>();
  for (const handout of [...handouts]) {
    takeBack(bus, handout, outcome, false);
    peers.add(handout.peer);
  }
  return peers;
}

/** A push event as a line. It is the same for all recipients whose sessions have the tools, and for all that have not. */
export function pushLine(
  bus: Bus,
  row: QueuedRow | (import("./store/rows.ts").FullMessageRow & { delivery_mode: number }),
  tools: boolean,
): string {
  const text = textFor(bus, row, tools);
  const footer = text.slice(text.lastIndexOf("\n") + 1);
  const payload = { message: summaryOf(bus, row, sent), mode: modeWord(row.delivery_mode), footer, text };
  return eventLine("push", JSON.stringify(payload));
}

/**
 * Hands queued pushes of a peer to the channel that can take them now: its newest listener, else its CLI's own socket.
 * A fresh listener also takes what an earlier push could not prove.
 */
export function pump(bus: Bus, peer: Peer, fresh = false): void {
  if (!peer.mayHaveQueued && !fresh) return;
  const conn = newestListener(peer);
  if (conn) return pumpListener(bus, peer, conn, fresh);
  const session = nativeFor(bus, peer);
  if (session) pumpNative(bus, peer, session);
}

const pumpBatch = 64;

/** A queue goes to a listener in parts of this size, each when the one before has left: a long one must not look like a reader that does not read. */
const pumpBytesMax = 2 * 1_048_576;

function pumpListener(bus: Bus, peer: Peer, conn: Conn, fresh: boolean): void {
  if (conn.filling) return;
  const tools = hasTools(peer);
  let bytes = 0;
  for (;;) {
    const rows = bus.store.queued(peer.id, 0, attemptsMax, fresh ? 1 : 0, pumpBatch);
    for (const row of rows) {
      if (bytes > pumpBytesMax) return fillLater(bus, peer, conn, fresh);
      if (!handOver(bus, peer, row.id, row.thread_id, "listener", conn)) continue;
      const line = pushLine(bus, row, tools);
      bytes += line.length;
      stageEvent(bus, conn, line);
    }
    if (rows.length < pumpBatch) break;
  }
  set(bus, peer, "mayHaveQueued", false);
}

/** The rest follows when what is staged has left the process. */
function fillLater(bus: Bus, peer: Peer, conn: Conn, fresh: boolean): void {
  const last = bus.out.at(-1);
  if (!last) return;
  set(bus, conn, "filling", true);
  last.taken = () =>
    bus.later(() => {
      conn.filling = false;
      pump(bus, conn.peer ?? peer, fresh);
    });
}

/** At most one wake is outstanding a session; what comes meanwhile joins the next hook or the next wake. */
function pumpNative(bus: Bus, peer: Peer, session: Session): void {
  for (const handout of peer.handouts.values()) if (handout.channel === "native") return;
  const rows = bus.store.queued(peer.id, 0, attemptsMax, 0, hookMessagesMax);
  if (!rows.length) return set(bus, peer, "mayHaveQueued", bus.store.countQueued(peer.id, 0, attemptsMax) > 0);
  const tools = hasTools(peer);
  const budget = portOf(bus, peer).hookBudget.max;
  const taken: QueuedRow[] = [];
  let text = "";
  for (const row of rows) {
    const next = textFor(bus, row, tools);
    if (taken.length && text.length + next.length + 2 > budget) break;
    if (!handOver(bus, peer, row.id, row.thread_id, "native", null)) continue;
    text += (taken.length ? "\n\n" : "") + next;
    taken.push(row);
  }
  const first = taken[0];
  if (!first) return;
  const frame = { ids: taken.map((row) => row.id), text, from: bus.peers.get(first.sender_id)?.handle ?? "renn" };
  const view = viewOf(session);
  bus.after.push(() => portOf(bus, peer).native?.push(view, frame, (outcome) => bus.nativeReport(session, frame.ids, outcome)));
}
