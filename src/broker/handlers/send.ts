// The requests send and reply: everything is checked before the first write (semantics §2 order of checks, §5, §6).
import { type DeliveryMode, dayMs, verdicts } from "../../protocol/constants.ts";
import { ProtocolError } from "../../protocol/errors.ts";
import type { Fields, Result } from "../../protocol/schemas.ts";
import type { Bus, Conn, Peer } from "../bus.ts";
import { advance, unreadOf } from "../delivery.ts";
import { deliveryView, recipientIds } from "../messages.ts";
import { notify } from "../news.ts";
import { noticeDeath } from "../session-ends.ts";
import type { MessageRow } from "../store/rows.ts";
import { threadFacts } from "../threads.ts";
import { replyArrived } from "../waits.ts";
import { checkDuplicate, checkRate, countReply, ownerSpoke, replyKey, sendKey } from "../windows.ts";
import { type Recipients, resolveRecipients } from "./recipients.ts";
import { type Draft, storeMessage } from "./storing.ts";

/** The request `send`. */
export function send(bus: Bus, { via }: Conn, sender: Peer, f: Fields<"send">): Result<"send"> {
  const body = cleanBody(f.body);
  const thread = f.threadId === null ? null : threadFacts(bus, f.threadId);
  if (f.threadId !== null && !thread) throw new ProtocolError("unknown_thread", `there is no thread ${f.threadId}`);
  const to = typeof f.to === "string" ? [f.to] : f.to;
  const found = resolveRecipients(bus, sender, via, to);
  const mode = f.mode ?? "push";
  const hash = f.key === undefined ? null : contentHash(["send", f.threadId, to, body, f.references ?? [], mode]);
  const repeated = hash === null ? null : repeatedMessage(bus, sender, f.key ?? "", hash);
  if (repeated) return { ...sendResult(bus, repeated), repeated: true };
  const ids = found.all.map((p) => p.id);
  const duplicate = sendKey(sender.id, f.threadId, ids, body);
  checkDuplicate(bus, duplicate);
  checkRate(bus, sender);
  checkThreadCap(bus, f.threadId, thread?.latestSeq ?? 0);
  const skipped = overUnreadCap(bus, found);
  for (const peer of found.all) noticeDeath(bus, peer);
  const left = skipped.length ? found.all.filter((p) => !skipped.includes(p)) : found.all;
  const recipients = left.map((peer) => ({ peer, mode: modeFor(bus, peer, sender, mode) }));
  const draft: Draft = {
    sender,
    via,
    threadId: f.threadId,
    recipients,
    body,
    mode,
    references: f.references ?? [],
    replyTo: null,
    verdict: null,
    key: f.key,
    hash,
    duplicate,
  };
  const stored = storeMessage(bus, draft);
  if (sender.owner) ownerSpoke(bus, stored.row.thread_id);
  const { row } = stored;
  const result: Result<"send"> = {
    messageId: row.id,
    threadId: row.thread_id,
    seq: row.seq,
    via: via?.handle ?? null,
    deliveries: stored.deliveries,
  };
  return skipped.length ? { ...result, skipped: skipped.map((p) => p.handle) } : result;
}

/** The request `reply`. */
export function reply(bus: Bus, conn: Conn, sender: Peer, f: Fields<"reply">): Result<"reply"> {
  return replyAs(bus, conn.via, sender, f);
}

/** A reply of a peer, which may have come over another way than a request: a CLI's own messaging. */
export function replyAs(bus: Bus, via: Peer | null, sender: Peer, f: Fields<"reply">): Result<"reply"> {
  const body = cleanBody(f.body);
  const answered = bus.store.message(f.messageId);
  if (!answered) throw new ProtocolError("unknown_message", `there is no message ${f.messageId}`);
  const thread = threadFacts(bus, answered.thread_id);
  if (!thread) throw new ProtocolError("unknown_message", `message ${f.messageId} has no thread any more`);
  const hash = f.key === undefined ? null : contentHash(["reply", f.messageId, body, f.verdict ?? null, f.references ?? []]);
  const repeated = hash === null ? null : repeatedMessage(bus, sender, f.key ?? "", hash);
  if (repeated) return { ...sendResult(bus, repeated), repeated: true };
  const duplicate = replyKey(sender.id, f.messageId, f.verdict ?? null, body);
  checkDuplicate(bus, duplicate);
  checkRate(bus, sender);
  checkThreadCap(bus, answered.thread_id, thread.latestSeq);
  const woken = wokenBy(bus, answered, sender, thread.participants);
  const others = [...thread.participants].filter((p) => p !== sender && p !== via);
  for (const peer of others) noticeDeath(bus, peer);
  const author = bus.peers.get(answered.sender_id);
  const pair = author && author !== sender && !sender.owner && !author.owner ? countReply(bus, answered.thread_id, sender, author) : null;
  const wakeMode: DeliveryMode = pair?.throttled ? "notify" : ((["push", "notify", "silent"] as const)[answered.mode] ?? "push");
  const recipients = others.map((peer) => ({ peer, mode: modeFor(bus, peer, sender, woken.has(peer) ? wakeMode : "notify") }));
  if (sender.owner) ownerSpoke(bus, answered.thread_id);
  const verdict = f.verdict === undefined ? null : verdicts.indexOf(f.verdict) + 1;
  const draft: Draft = {
    sender,
    via,
    threadId: answered.thread_id,
    recipients,
    body,
    mode: wakeMode,
    references: f.references ?? [],
    replyTo: answered,
    verdict,
    key: f.key,
    hash,
    duplicate,
  };
  const { row, deliveries } = storeMessage(bus, draft);
  settleReply(bus, via, sender, answered, row);
  // The sender is told by its answer, the other by the news of the reply.
  if (pair?.tell && author)
    notify(bus, author, { kind: "reply_arrived", threadId: row.thread_id, fromHandle: sender.handle, messageId: row.id, throttled: true });
  const result = { messageId: row.id, threadId: row.thread_id, seq: row.seq, via: via?.handle ?? null, deliveries };
  return pair?.throttled ? { ...result, throttled: true } : result;
}

/** Lone surrogates become U+FFFD. */
function cleanBody(body: string): string {
  return body.isWellFormed() ? body : body.toWellFormed();
}

function contentHash(parts: unknown): string {
  return Bun.hash.wyhash(JSON.stringify(parts)).toString(36);
}

/** What the same key of the same peer stored within the day; the same key with other content is refused. */
function repeatedMessage(bus: Bus, sender: Peer, key: string, hash: string): MessageRow | null {
  const row = bus.store.byKey(sender.id, key, bus.now - dayMs);
  if (!row) return null;
  if (row.idem_hash === hash) return row;
  throw new ProtocolError("bad_request", `key: ${JSON.stringify(key)} stands for message ${row.id} with other content`, {
    messageId: row.id,
  });
}

function sendResult(bus: Bus, row: MessageRow): Result<"send"> {
  const deliveries = bus.store.deliveries(row.id).flatMap((d) => {
    const peer = bus.peers.get(d.peer_id);
    return peer ? [deliveryView(bus, peer, d.state, d.mode)] : [];
  });
  const via = row.via === null ? null : (bus.peers.get(row.via)?.handle ?? null);
  return { messageId: row.id, threadId: row.thread_id, seq: row.seq, via, deliveries };
}

function checkThreadCap(bus: Bus, threadId: number | null, latestSeq: number): void {
  if (threadId !== null && latestSeq >= bus.limits.threadMessagesMax)
    throw new ProtocolError(
      "cap_thread",
      `thread ${threadId} holds ${latestSeq} messages, the most it may; send with threadId null to open another`,
    );
}

/** Members of groups and @all whose inbox is full; refused when a named one is full or nobody is left. */
function overUnreadCap(bus: Bus, found: Recipients): Peer[] {
  const full = found.all.filter((peer) => unreadOf(bus, peer) >= bus.limits.unreadMax);
  if (!full.length) return full;
  const named = full.filter((peer) => found.named.includes(peer));
  const refused = named.length ? named : full.length === found.all.length ? full : [];
  if (refused.length)
    throw new ProtocolError("cap_inbox", `${refused.map((p) => p.handle).join(", ")} already has ${bus.limits.unreadMax} unread messages`, {
      handles: refused.map((p) => p.handle),
    });
  return full;
}

/** Whom a reply wakes: the answered author and its via; a reply to one's own message wakes that message's recipients (semantics §6). */
function wokenBy(bus: Bus, answered: MessageRow, sender: Peer, participants: ReadonlySet<Peer>): ReadonlySet<Peer> {
  if (bus.repliesToAll) return participants;
  const ids =
    answered.sender_id === sender.id ? recipientIds(answered) : [answered.sender_id, ...(answered.via === null ? [] : [answered.via])];
  return new Set(ids.flatMap((id) => bus.peers.get(id) ?? []));
}

/** A muted sender comes as silent; the owner cannot be muted. */
function modeFor(bus: Bus, recipient: Peer, sender: Peer, mode: DeliveryMode): DeliveryMode {
  if (sender.owner) return mode;
  recipient.mutes ??= new Map(bus.store.mutes(recipient.id).map((m) => [m.muted_id, m.until_at]));
  if (!recipient.mutes.size) return mode;
  const until = Math.max(recipient.mutes.get(sender.id) ?? 0, recipient.mutes.get(0) ?? 0);
  return until > bus.now ? "silent" : mode;
}

/** The replier's own deliveries of what it answers become replied, and waits for it move on. */
function settleReply(bus: Bus, via: Peer | null, sender: Peer, answered: MessageRow, row: MessageRow): void {
  const speakers = via ? [sender, via] : [sender];
  for (const speaker of speakers) {
    advance(bus, answered.id, speaker, "replied", "confirmed");
    if (row.ask_id !== null && row.ask_id !== answered.id) advance(bus, row.ask_id, speaker, "replied", "confirmed");
  }
  replyArrived(bus, row.thread_id, row.ask_id, speakers);
}
