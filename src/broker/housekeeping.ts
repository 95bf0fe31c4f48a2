// What is done when there is time for it: last-seen times, old sessions, full-text search, retention, the WAL (semantics §4, §10).
import { dayMs } from "../protocol/constants.ts";
import { type Bus, drop, due, type House } from "./bus.ts";
import { sweepWindows } from "./windows.ts";

/** How long after activity the house is kept, and how much is done in one step. */
const idleMs = 5_000;
const retentionStep = 50;
const searchStep = 500;

/** Nothing is due until something happens. */
export function newHouse(): House {
  return { nextAt: Number.POSITIVE_INFINITY, requestsSeen: 0, retentionAt: 0 };
}

/** Something happened: the house is kept a little later. */
export function wakeHouse(bus: Bus): void {
  if (bus.house.nextAt <= bus.mono + idleMs) return;
  bus.house.nextAt = bus.mono + idleMs;
  due(bus, bus.house.nextAt);
}

/** One small step of housekeeping, if it is due; when nothing is left to do, an idle broker is not woken again. Returns when it comes again. */
export function keepHouse(bus: Bus): number {
  const { house } = bus;
  if (bus.mono < house.nextAt) return house.nextAt;
  const quiet = bus.counts.requests === house.requestsSeen;
  house.requestsSeen = bus.counts.requests;
  const more = step(bus, quiet);
  if (quiet && !more) bus.after.push(() => settle(bus));
  const sleep = bus.retentionDays > 0 ? house.retentionAt : Number.POSITIVE_INFINITY;
  house.nextAt = more ? bus.mono + 50 : quiet ? Math.max(sleep, bus.mono + idleMs) : bus.mono + idleMs;
  return house.nextAt;
}

/** Before a long rest: the WAL and the memory of busier times go. */
function settle(bus: Bus): void {
  try {
    bus.store.checkpoint();
  } catch (error) {
    // A reader that is held open keeps the WAL; it is tried again next time.
    bus.log("debug", "checkpoint-later", { error: String(error) });
  }
  bus.system.rest();
}

/** True when there is more to do at once. */
function step(bus: Bus, quiet: boolean): boolean {
  for (const peer of bus.seen) if (bus.peers.get(peer.id)) bus.store.setSeen(peer.id, peer.lastSeenAt);
  bus.seen.clear();
  sweepWindows(bus);
  for (const [handle, alias] of bus.aliases) {
    if (alias.untilAt > bus.now) continue;
    drop(bus, bus.aliases, handle);
    bus.store.deleteAlias(handle);
  }
  for (const id of bus.store.endedSessionsOfBarePeers(bus.now - dayMs)) bus.store.deleteSession(id);
  const filling = quiet && bus.store.fillSearch(searchStep) === searchStep;
  return retain(bus) || filling;
}

/**
 * Removes threads whose last message is older than retentionDays and that hold nothing unread. Two looks, one to two days apart on the wall clock,
 * must both find them old: a clock that jumped ahead and was set right again removes nothing.
 */
function retain(bus: Bus): boolean {
  if (bus.retentionDays <= 0 || bus.mono < bus.house.retentionAt) return false;
  const since = bus.now - bus.store.fact("retention_looked_at");
  if (since >= dayMs && since <= 2 * dayMs && removeThreads(bus, bus.store.fact("retention_cut"))) return true;
  if (since < 0 || since >= dayMs) {
    bus.store.setFact("retention_looked_at", bus.now);
    bus.store.setFact("retention_cut", bus.now - bus.retentionDays * dayMs);
    bus.store.setFact("retention_thread", 0);
  }
  bus.house.retentionAt = bus.mono + dayMs;
  return false;
}

/** Removes some old threads; true when there are more. */
function removeThreads(bus: Bus, cut: number): boolean {
  const rows = bus.store.oldThreads(cut, bus.store.fact("retention_thread"), retentionStep);
  // Ids of what was removed are never given again: old transcripts still name them.
  bus.store.setFact("last_message", bus.nextMessageId - 1);
  bus.store.setFact("last_thread", bus.nextThreadId - 1);
  for (const row of rows) {
    bus.store.setFact("retention_thread", row.id);
    if (bus.store.threadHasOpen(row.id)) continue;
    bus.store.deleteThread(row.id);
    bus.threads.delete(row.id);
  }
  return rows.length === retentionStep;
}
