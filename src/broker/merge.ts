// Two peers become one: a session takes a handle that a peer without a live session has (semantics §4). Nothing of either is lost.
import { dayMs } from "../protocol/constants.ts";
import { add, type Bus, drop, type Peer, put, remove, set, tellWatchers, undo } from "./bus.ts";
import { takeBackAll } from "./delivery.ts";
import { notify, takeNews } from "./news.ts";
import { tellPresence } from "./presence.ts";

/** Everything of `from` becomes `into`'s: messages, deliveries, groups, connections, waits, news. For a day the old handle reaches it. */
export function mergePeers(bus: Bus, from: Peer, into: Peer): void {
  const old = from.handle;
  // What was handed over goes by the name of the old peer; it is handed over again.
  takeBackAll(bus, from.handouts.values(), "closed");
  bus.store.mergePeers(from.id, into.id, from.used);
  // The participants that are kept in memory are read anew.
  bus.threads.clear();
  if (from.used) set(bus, into, "used", true);
  mergeConnections(bus, from, into);
  mergeWaits(bus, from, into);
  for (const group of bus.groups.values()) if (group.createdBy === from) set(bus, group, "createdBy", into);
  for (const group of from.groups) {
    remove(bus, group.members, from);
    add(bus, group.members, into);
    add(bus, into.groups, group);
  }
  for (const item of takeNews(bus, from)) notify(bus, into, item);
  put(
    bus,
    bus.windows.rate,
    into.id,
    sent(bus, from)
      .concat(sent(bus, into))
      .sort((a, b) => a - b),
  );
  set(bus, into, "mutes", null);
  set(bus, into, "unread", -1);
  set(bus, into, "mayHaveQueued", true);
  takeHandle(bus, from, into);
  tellWatchers(bus, null, [into], () => ({ kind: "renamed", handle: into.handle, from: old, at: bus.now }));
  tellPresence(bus, into);
}

function sent(bus: Bus, peer: Peer): number[] {
  return bus.windows.rate.get(peer.id) ?? [];
}

function mergeConnections(bus: Bus, from: Peer, into: Peer): void {
  for (const conn of bus.conns) {
    if (conn.via === from) set(bus, conn, "via", conn.peer === into ? null : into);
    if (conn.watching?.peer === from) set(bus, conn, "watching", { ...conn.watching, peer: into });
    if (conn.peer !== from) continue;
    remove(bus, from.conns, conn);
    add(bus, into.conns, conn);
    set(bus, conn, "peer", into);
    if (conn.via === into) set(bus, conn, "via", null);
  }
}

function mergeWaits(bus: Bus, from: Peer, into: Peer): void {
  for (const waits of bus.waits.values())
    for (const wait of waits) {
      if (wait.peer === from) set(bus, wait, "peer", into);
      if (wait.pending.has(from)) {
        remove(bus, wait.pending, from);
        add(bus, wait.pending, into);
      }
      if (wait.recipients.includes(from)) set(bus, wait, "recipients", [...new Set(wait.recipients.map((p) => (p === from ? into : p)))]);
    }
  for (const wait of from.waits) {
    remove(bus, from.waits, wait);
    add(bus, into.waits, wait);
  }
}

function takeHandle(bus: Bus, from: Peer, into: Peer): void {
  for (const [handle, alias] of bus.aliases) if (alias.peer === from) put(bus, bus.aliases, handle, { ...alias, peer: into });
  drop(bus, bus.peers.byId, from.id);
  drop(bus, bus.peers.byHandle, from.handle);
  bus.store.putAlias(from.handle, into.id, bus.now + dayMs);
  put(bus, bus.aliases, from.handle, { peer: into, untilAt: bus.now + dayMs });
  bus.seen.delete(from);
  if (bus.present.delete(from)) undo(bus, () => bus.present.add(from));
}
