// What the broker remembers of threads that are in use: their newest message and who takes part.
import type { Bus, Peer, ThreadFacts } from "./bus.ts";

/** Threads kept in memory; the one used longest ago goes first. */
const threadsKept = 4096;

/** A thread's newest message and participants, or null where there is no such thread. */
export function threadFacts(bus: Bus, threadId: number): ThreadFacts | null {
  const known = bus.threads.get(threadId);
  if (known) return known;
  const row = bus.store.thread(threadId);
  if (!row) return null;
  const participants = new Set(bus.store.participants(threadId).flatMap((id) => bus.peers.get(id) ?? []));
  return keepThread(bus, threadId, { latestSeq: row.latest_seq, latestMessageId: row.latest_message_id, participants });
}

/** Puts a thread into memory. A failed turn empties all of it, so nothing needs to be taken back. */
export function keepThread(bus: Bus, threadId: number, facts: ThreadFacts): ThreadFacts {
  if (bus.threads.size >= threadsKept) {
    const oldest = bus.threads.keys().next().value;
    if (oldest !== undefined) bus.threads.delete(oldest);
  }
  bus.threads.set(threadId, facts);
  return facts;
}

/** Joins a message's sender, via and recipients to its thread's participants. */
export function joinThread(
  bus: Bus,
  threadId: number,
  { participants }: ThreadFacts,
  sender: Peer,
  via: Peer | null,
  recipients: readonly { peer: Peer }[],
): void {
  const before = participants.size;
  participants.add(sender);
  if (via) participants.add(via);
  for (const { peer } of recipients) participants.add(peer);
  if (participants.size === before) return;
  const joined = [...participants].slice(before).map((peer) => peer.id);
  bus.store.addParticipants(threadId, joined);
}
