// A message that was checked goes into the store with its deliveries, and to the channels that can take it now (semantics §5, §7).
import type { DeliveryMode } from "../../protocol/constants.ts";
import type { DeliveryRow as DeliveryView } from "../../protocol/schemas.ts";
import { codePoints, firstLine } from "../../protocol/text.ts";
import { type Bus, type Conn, type Peer, set, stageEvent, tellWatchers, type Wait } from "../bus.ts";
import { countUnread, pump, pushLine, rememberHandout } from "../delivery.ts";
import { deliveryView, hasTools, summaryOf } from "../messages.ts";
import { notify } from "../news.ts";
import { markUsed } from "../peers.ts";
import { isHere, newestListener } from "../presence.ts";
import type { DeliveryStart, FullMessageRow, MessageRow } from "../store/rows.ts";
import { startTail } from "../tails.ts";
import { joinThread, keepThread, threadFacts } from "../threads.ts";
import { waitFor } from "../waits.ts";
import { countSend } from "../windows.ts";

const queued = 0;
const sent = 1;
const pushMode = 0;
const notifyMode = 1;
const modeNumber: Record<DeliveryMode, number> = { push: pushMode, notify: notifyMode, silent: 2 };

/** One recipient, and how the message comes to it. */
export type Recipient = { peer: Peer; mode: DeliveryMode };

/** A message as it was checked. */
export type Draft = {
  sender: Peer;
  /** The session through which the sender speaks. */
  via: Peer | null;
  threadId: number | null;
  recipients: readonly Recipient[];
  body: string;
  mode: DeliveryMode;
  references: readonly string[];
  replyTo: MessageRow | null;
  verdict: number | null;
  key: string | undefined;
  /** What the key stands for; null without a key. */
  hash: string | null;
  duplicate: number;
};

type Stored = { row: FullMessageRow; deliveries: DeliveryView[] };

/** Writes a message with its deliveries, and hands it to the channels that can take it now. */
export function storeMessage(bus: Bus, d: Draft): Stored {
  const id = bus.nextMessageId;
  const threadId = d.threadId ?? bus.nextThreadId;
  set(bus, bus, "nextMessageId", id + 1);
  if (d.threadId === null) set(bus, bus, "nextThreadId", threadId + 1);
  const known = d.threadId === null ? null : threadFacts(bus, threadId);
  const facts = known ?? keepThread(bus, threadId, { latestSeq: 0, latestMessageId: 0, participants: new Set() });
  facts.latestSeq++;
  facts.latestMessageId = id;
  const row = rowOf(bus, d, id, threadId, facts.latestSeq);
  bus.store.insertMessage(row, d.key ?? null, d.hash);
  bus.store.putThread(threadId, row.seq, id);
  countSend(bus, d.sender, d.duplicate, id);
  markUsed(bus, d.sender);
  joinThread(bus, threadId, facts, d.sender, d.via, d.recipients);
  if (bus.watchers.size) {
    const everybody = [d.sender, ...d.recipients.map((r) => r.peer)];
    tellWatchers(bus, threadId, everybody, () => ({ kind: "message", message: summaryOf(bus, row) }));
  }
  const begun: Begun[] = [];
  for (const recipient of d.recipients) begun.push(begin(bus, row, recipient));
  insertDeliveries(bus, row, begun);
  const pushes: Pushes = [];
  const deliveries: DeliveryView[] = [];
  for (const delivery of begun) deliveries.push(deliver(bus, row, delivery, pushes));
  return { row, deliveries };
}

function rowOf(bus: Bus, d: Draft, id: number, threadId: number, seq: number): FullMessageRow {
  const only = d.recipients.length === 1 ? d.recipients[0] : undefined;
  return {
    id,
    thread_id: threadId,
    seq,
    sender_id: d.sender.id,
    via: d.via?.id ?? null,
    reply_to: d.replyTo?.id ?? null,
    ask_id: d.replyTo ? (d.replyTo.ask_id ?? d.replyTo.id) : null,
    verdict: d.verdict,
    mode: modeNumber[d.mode],
    at: bus.now,
    length: codePoints(d.body),
    recipients: `[${only ? only.peer.id : d.recipients.map((r) => r.peer.id).join(",")}]`,
    first_line: firstLine(d.body, bus.limits.firstLineCharactersMax),
    refs: d.references.length ? JSON.stringify(d.references) : null,
    body: d.body,
  };
}

/** A delivery whose channel is chosen: an open wait, a listening connection, or none that can take it in this turn. */
type Begun = DeliveryStart & { peer: Peer; wait: Wait | null; conn: Conn | null };

/** Chooses the channel of a delivery, in the send's own transaction. */
function begin(bus: Bus, row: FullMessageRow, { peer, mode }: Recipient): Begun {
  const wait = row.ask_id === null ? null : waitFor(bus, peer, row.thread_id, row.ask_id);
  const conn = wait ? wait.conn : mode === "push" && !peer.mayHaveQueued ? newestListener(peer) : null;
  return {
    peer,
    wait,
    conn,
    state: conn ? sent : queued,
    mode: modeNumber[mode],
    waited: isHere(bus, peer) ? 0 : 1,
    channel: wait ? "wait" : conn ? "listener" : null,
    mark: conn && !wait ? startTail(bus, peer.session) : null,
  };
}

/** Where all begin alike they go into the store together: for two hundred listeners that is half the cost. */
function insertDeliveries(bus: Bus, row: FullMessageRow, begun: readonly Begun[]): void {
  const first = begun[0];
  if (!first) return;
  if (begun.length > 1 && begun.every((delivery) => alike(delivery, first))) {
    const ids = begun.map(({ peer }) => peer.id);
    return bus.store.insertDeliveries(row, first, ids);
  }
  for (const delivery of begun) bus.store.insertDelivery(row, delivery, delivery.peer.id);
}

function alike(a: DeliveryStart, b: DeliveryStart): boolean {
  return a.state === b.state && a.mode === b.mode && a.waited === b.waited && a.channel === b.channel && a.mark === b.mark;
}

/** The lines of pushes made for others of the same message: without the tools, and with them. */
type Pushes = [string?, string?];

/** What a stored delivery brings with it: its push, what is counted and told, and how the answer shows it. */
function deliver(bus: Bus, row: FullMessageRow, { peer, mode, wait, conn }: Begun, pushes: Pushes): DeliveryView {
  markUsed(bus, peer);
  countUnread(bus, peer, 1);
  if (conn) rememberHandout(bus, peer, row.id, row.thread_id, wait ? "wait" : "listener", conn).held = wait !== null;
  if (conn && !wait) {
    const tools = hasTools(peer);
    const line = pushes[tools ? 1 : 0] ?? pushLine(bus, { ...row, delivery_mode: mode }, tools);
    pushes[tools ? 1 : 0] = line;
    stageEvent(bus, conn, line);
  }
  if (!conn && mode === pushMode) {
    set(bus, peer, "mayHaveQueued", true);
    pump(bus, peer);
  }
  if (mode === notifyMode && row.reply_to !== null && !wait)
    notify(bus, peer, {
      kind: "reply_arrived",
      threadId: row.thread_id,
      fromHandle: bus.peers.get(row.sender_id)?.handle ?? "",
      messageId: row.id,
    });
  return deliveryView(bus, peer, conn || peer.handouts.has(row.id) ? sent : queued, mode, conn !== null);
}
