// Notifications: small news gathered a minute a handle, in memory only (semantics §7).
import { eventLine } from "../protocol/frames.ts";
import type { Notification } from "../protocol/schemas.ts";
import { type Bus, drop, due, type Peer, put, set, stageEvent } from "./bus.ts";
import { newestListener } from "./presence.ts";

/** Most kinds of news that one batch holds. */
const batchItemsMax = 200;

/** Adds a piece of news for a peer; equal ones merge. */
export function notify(bus: Bus, peer: Peer, item: Notification): void {
  const key = `${item.kind} ${item.threadId} ${item.fromHandle}`;
  let batch = bus.news.get(peer);
  if (!batch) {
    batch = { dueAt: bus.mono + bus.limits.notificationBatchMs, items: new Map() };
    put(bus, bus.news, peer, batch);
    due(bus, batch.dueAt);
  }
  if (batch.items.has(key) || batch.items.size < batchItemsMax) put(bus, batch.items, key, { ...batch.items.get(key), ...item });
}

/** Takes what has gathered for a peer: for its next hook payload. */
export function takeNews(bus: Bus, peer: Peer): Notification[] {
  const batch = bus.news.get(peer);
  if (!batch) return [];
  drop(bus, bus.news, peer);
  return [...batch.items.values()];
}

/** Sends batches whose time has come to those that listen; for the others they wait for the next hook. Returns the next time. */
export function sendNews(bus: Bus): number {
  let next = Number.POSITIVE_INFINITY;
  for (const [peer, batch] of bus.news) {
    if (batch.dueAt > bus.mono) {
      next = Math.min(next, batch.dueAt);
      continue;
    }
    const conn = newestListener(peer);
    if (conn) stageEvent(bus, conn, eventLine("notification", JSON.stringify(takeNews(bus, peer))));
    else set(bus, batch, "dueAt", Number.POSITIVE_INFINITY);
  }
  return next;
}

/** A listener has come: what gathered and is due goes to it at the next tick. */
export function newsForListener(bus: Bus, peer: Peer): void {
  const batch = bus.news.get(peer);
  if (batch && batch.dueAt === Number.POSITIVE_INFINITY) {
    set(bus, batch, "dueAt", bus.mono);
    due(bus, bus.mono);
  }
}
