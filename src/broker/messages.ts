// Stored rows as the wire and a session see them: summaries, texts, deliveries, matrix rows (semantics §8, §9).
import { type DeliveryMode, type DeliveryState, deliveryModes, deliveryStates, type Verdict, verdicts } from "../protocol/constants.ts";
import type { DeliveryRow as DeliveryView, MatrixRow, Summary } from "../protocol/schemas.ts";
import { deliveryText, notifyLine, type TextMessage } from "../protocol/text.ts";
import type { Bus, Peer } from "./bus.ts";
import { presenceOf, reachOf } from "./presence.ts";
import type { FullMessageRow, MessageRow } from "./store/rows.ts";

/** A peer's handle by id; a peer that is gone shows as its number. */
export function handleOf(bus: Bus, peerId: number): string {
  return bus.peers.get(peerId)?.handle ?? `peer-${peerId}`;
}

/** The word of a stored state. */
export function stateWord(state: number): DeliveryState {
  return deliveryStates[state] ?? "queued";
}

/** The word of a stored mode. */
export function modeWord(mode: number): DeliveryMode {
  return deliveryModes[mode] ?? "push";
}

/** The word of a stored verdict. */
export function verdictWord(verdict: number | null): Verdict | null {
  return verdict === null ? null : (verdicts[verdict - 1] ?? null);
}

/** A stored JSON array. One that a failing disk or another program damaged is as good as empty: it must keep nobody from reading the rest, or from starting. */
function storedList<T>(text: string): T[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}

/** Peer ids of a message's recipients, in the sender's order. */
export function recipientIds(row: MessageRow): number[] {
  return storedList(row.recipients);
}

function refsOf(row: MessageRow): string[] {
  return row.refs === null ? [] : storedList(row.refs);
}

/** What a summary and a text say alike of a message. */
function headOf(bus: Bus, row: MessageRow) {
  return {
    id: row.id,
    threadId: row.thread_id,
    seq: row.seq,
    from: handleOf(bus, row.sender_id),
    via: row.via === null ? null : handleOf(bus, row.via),
    to: recipientIds(row).map((id) => handleOf(bus, id)),
    replyTo: row.reply_to,
    verdict: verdictWord(row.verdict),
    references: refsOf(row),
    at: row.at,
  };
}

/** A message without its body. `state` is the asking peer's own delivery, where it has one. */
export function summaryOf(bus: Bus, row: MessageRow, state?: number | null, body?: string): Summary {
  return {
    ...headOf(bus, row),
    kind: row.reply_to === null ? "ask" : "reply",
    mode: modeWord(row.mode),
    firstLine: row.first_line,
    length: row.length,
    truncated: row.length > bus.limits.bodyCharactersMax,
    ...(state === undefined || state === null ? {} : { state: stateWord(state) }),
    ...(body === undefined ? {} : { body }),
  };
}

/** The state of a peer's own delivery of a message, or null. */
export function ownState(bus: Bus, row: MessageRow, peer: Peer): number | null {
  return bus.store.delivery(row.id, peer.id)?.state ?? null;
}

function textMessage(bus: Bus, row: FullMessageRow): TextMessage {
  return { ...headOf(bus, row), body: row.body };
}

/** Whether a peer's session has the renn tools: its hooks say so, or it has a live MCP or adapter connection. */
export function hasTools(peer: Peer): boolean {
  if (peer.session?.tools) return true;
  for (const conn of peer.conns) if (conn.kind === "mcp" || conn.kind === "adapter") return true;
  return false;
}

/** The exact text that a peer's session sees of a message. `bodyCharactersMax` is the limit's, or less where a budget is short. */
export function textFor(bus: Bus, row: FullMessageRow, tools: boolean, bodyCharactersMax = bus.limits.bodyCharactersMax): string {
  return deliveryText(textMessage(bus, row), { tools, now: bus.now, bodyCharactersMax });
}

/** The one line of a notify message. */
export function lineFor(bus: Bus, row: FullMessageRow): string {
  return notifyLine(textMessage(bus, row), bus.now, bus.limits.firstLineCharactersMax);
}

/** A delivery as the answer to a send shows it; `taken` says that a listener or an open wait has it. */
export function deliveryView(bus: Bus, peer: Peer, state: number, mode: number, taken = false): DeliveryView {
  const presence = presenceOf(bus, peer);
  return {
    handle: peer.handle,
    state: stateWord(state),
    mode: modeWord(mode),
    presence,
    reach: taken ? "now" : reachOf(bus, peer, state === 0 && mode !== 0, presence),
  };
}

/** Who has answered an ask, in the order of its recipients; the last reply of a handle that has a verdict gives the verdict. */
export function matrixOf(bus: Bus, ask: MessageRow): MatrixRow[] {
  const states = new Map(bus.store.deliveries(ask.id).map((d) => [d.peer_id, d.state]));
  const replies = new Map<number, MessageRow>();
  const verdictOf = new Map<number, Verdict>();
  for (const reply of bus.store.repliesTo(ask.thread_id, ask.id)) {
    for (const id of reply.via === null ? [reply.sender_id] : [reply.sender_id, reply.via]) {
      replies.set(id, reply);
      const verdict = verdictWord(reply.verdict);
      if (verdict) verdictOf.set(id, verdict);
    }
  }
  return recipientIds(ask)
    .filter((id) => states.has(id))
    .map((id) => {
      const peer = bus.peers.get(id);
      const reply = replies.get(id) ?? null;
      return {
        handle: handleOf(bus, id),
        state: stateWord(states.get(id) ?? 0),
        presence: peer ? presenceOf(bus, peer) : "offline",
        verdict: verdictOf.get(id) ?? null,
        replyMessageId: reply?.id ?? null,
        repliedAt: reply?.at ?? null,
      };
    });
}
