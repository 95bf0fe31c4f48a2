// Rate, duplicate and ping-pong windows: in memory, on monotonic time, taken back with a failed turn (semantics §5, §6).
import { pingPongRepliesMax, pingPongWindowMs } from "../protocol/constants.ts";
import { ProtocolError } from "../protocol/errors.ts";
import { type Bus, drop, type Peer, put, type Windows } from "./bus.ts";
import { wasPushed } from "./steps.ts";

/** Empty windows. */
export function newWindows(): Windows {
  return { rate: new Map(), duplicates: new Map(), pairs: new Map() };
}

/** The key of a send that must not come twice in the window: sender, thread (null = a new one), recipients, body. */
export function sendKey(senderId: number, threadId: number | null, recipientIds: readonly number[], body: string): number {
  const recipients = recipientIds.length === 1 ? recipientIds[0] : recipientIds.toSorted((a, b) => a - b).join();
  return keyOf(`s ${senderId} ${threadId} ${recipients}\n${body}`);
}

/** The key of a reply that must not come twice in the window: sender, answered message, verdict, body. */
export function replyKey(senderId: number, messageId: number, verdict: string | null, body: string): number {
  return keyOf(`r ${senderId} ${messageId} ${verdict}\n${body}`);
}

/** As a number a key is half the cost of a bigint in a map, and 53 bits are enough for a window. */
function keyOf(text: string): number {
  return Number(Bun.hash.wyhash(text));
}

/** Refuses what the sender stored within the duplicate window already. */
export function checkDuplicate(bus: Bus, key: number): void {
  forgetOldDuplicates(bus);
  const seen = bus.windows.duplicates.get(key);
  if (!seen || seen.at + bus.limits.duplicateWindowMs <= bus.mono) return;
  const left = seconds(seen.at + bus.limits.duplicateWindowMs - bus.mono);
  throw new ProtocolError("duplicate", `this was sent as message ${seen.messageId} already; the same can be sent again in ${left}`, {
    messageId: seen.messageId,
  });
}

function forgetOldDuplicates(bus: Bus): void {
  const { duplicates } = bus.windows;
  for (const [key, { at }] of duplicates) {
    if (at + bus.limits.duplicateWindowMs > bus.mono) break;
    duplicates.delete(key);
  }
}

/** Refuses a sender that has used up its window. */
export function checkRate(bus: Bus, peer: Peer): void {
  const times = bus.windows.rate.get(peer.id);
  if (!times) return;
  const from = bus.mono - bus.limits.sendWindowMs;
  while (times.length && (times[0] ?? 0) <= from) times.shift();
  if (times.length < bus.limits.sendsPerWindow) return;
  const retryAfterMs = Math.max(1, Math.ceil((times[times.length - bus.limits.sendsPerWindow] ?? bus.mono) - from));
  throw new ProtocolError(
    "rate_limited",
    `${peer.handle} has sent ${bus.limits.sendsPerWindow} messages in ${seconds(bus.limits.sendWindowMs)}; there is room again in ${seconds(retryAfterMs)}`,
    { retryAfterMs },
  );
}

/** Whole seconds in words, a begun one counted; the exact time is in the error's data. */
const seconds = (ms: number) => `${Math.ceil(ms / 1000)} s`;

/** Counts a stored send or reply. `key` null leaves the duplicate window alone. */
export function countSend(bus: Bus, peer: Peer, key: number | null, messageId: number, at = bus.mono): void {
  let times = bus.windows.rate.get(peer.id);
  if (!times) {
    times = [];
    put(bus, bus.windows.rate, peer.id, times);
  }
  times.push(at);
  bus.steps.push(times, wasPushed);
  if (key !== null) put(bus, bus.windows.duplicates, key, { at, messageId });
}

/** Windows that hold nothing any more go; called from time to time. */
export function sweepWindows(bus: Bus): void {
  forgetOldDuplicates(bus);
  for (const [id, times] of bus.windows.rate) if ((times.at(-1) ?? 0) + bus.limits.sendWindowMs <= bus.mono) bus.windows.rate.delete(id);
  for (const [key, pair] of bus.windows.pairs) if ((pair.times.at(-1) ?? 0) + pingPongWindowMs <= bus.mono) bus.windows.pairs.delete(key);
}

/**
 * Counts a reply between two peers in a thread. `throttled` from the thirteenth within ten minutes without a word of the owner;
 * `tell` the first time.
 */
export function countReply(bus: Bus, threadId: number, a: Peer, b: Peer): { throttled: boolean; tell: boolean } {
  const key = `${threadId} ${Math.min(a.id, b.id)} ${Math.max(a.id, b.id)}`;
  const old = bus.windows.pairs.get(key);
  const times = (old?.times ?? []).filter((t) => t + pingPongWindowMs > bus.mono);
  const throttled = times.length >= pingPongRepliesMax;
  const told = throttled && (old?.told ?? false);
  put(bus, bus.windows.pairs, key, { times: [...times.slice(-pingPongRepliesMax), bus.mono], told: throttled });
  return { throttled, tell: throttled && !told };
}

/** A word of the owner in a thread: its pairs start anew. */
export function ownerSpoke(bus: Bus, threadId: number): void {
  for (const key of bus.windows.pairs.keys()) if (key.startsWith(`${threadId} `)) drop(bus, bus.windows.pairs, key);
}
