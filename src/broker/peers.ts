// Peers and their names: who exists, which handles are free, aliases, renames, and how a new peer gets a name (semantics §4).
import { type ClientName, dayMs, handleCharactersMax, handlePattern, reservedHandles } from "../protocol/constants.ts";
import { ProtocolError } from "../protocol/errors.ts";
import { slug } from "../protocol/text.ts";
import { type Bus, drop, type Peer, type PeerId, put, set, tellWatchers, undo } from "./bus.ts";
import { peerFromRow } from "./directory.ts";
import { liveSession } from "./presence.ts";

const validHandle = new RegExp(handlePattern);

/** The peer that a handle or a live alias of it names, or null. */
export function findPeer(bus: Bus, handle: string): Peer | null {
  return bus.peers.named(handle) ?? liveAlias(bus, handle);
}

/** The peer that had this handle within the last day, or null. */
export function liveAlias(bus: Bus, handle: string): Peer | null {
  const alias = bus.aliases.get(handle);
  return alias && alias.untilAt > bus.now ? alias.peer : null;
}

/** The same, or `unknown_handle` with up to three handles that look alike. */
export function needPeer(bus: Bus, handle: string): Peer {
  const peer = findPeer(bus, handle);
  if (peer) return peer;
  const near = nearHandles(bus, handle);
  const hint = near.length ? `; did you mean ${near.join(", ")}?` : "";
  throw new ProtocolError("unknown_handle", `no peer has the handle ${JSON.stringify(handle)}${hint}`, {
    handle,
    ...(near.length ? { suggestions: near } : {}),
  });
}

/** Handles and group names that differ by at most two edits or share a start; best first, at most three. */
export function nearHandles(bus: Bus, handle: string): string[] {
  const word = handle.toLowerCase().slice(0, handleCharactersMax);
  const scored: { name: string; score: number }[] = [];
  const look = (name: string) => {
    if (Math.abs(name.length - word.length) > 2 && !name.startsWith(word)) return;
    const score = name.startsWith(word) ? 1 : edits(name, word);
    if (score <= 2) scored.push({ name, score });
  };
  // Bounded, so that a typo costs the same in a home with many peers.
  let looked = 0;
  for (const peer of bus.present) if (looked++ < 2000) look(peer.handle);
  for (const name of bus.store.handles(2000)) if (!scored.some((s) => s.name === name)) look(name);
  looked = 0;
  for (const name of bus.groups.keys()) if (looked++ < 1000) look(name);
  return scored
    .sort((a, b) => a.score - b.score)
    .slice(0, 3)
    .map((s) => s.name);
}

function edits(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)));
    row = next;
  }
  return row[b.length] ?? 99;
}

/** What is known of a peer when it is made. */
export type PeerFacts = Partial<Pick<Peer, "display" | "role" | "client" | "cwd" | "version">>;

/** Makes a peer. The handle must be free. */
export function makePeer(bus: Bus, handle: string, facts: PeerFacts, owner = false): Peer {
  endAlias(bus, handle);
  const row = {
    handle,
    display: facts.display ?? null,
    role: facts.role ?? null,
    client: facts.client ?? null,
    cwd: facts.cwd ?? null,
    version: facts.version ?? null,
    owner: owner ? 1 : 0,
    last_seen_at: bus.now,
  };
  const id = bus.store.insertPeer(row);
  const peer = peerFromRow({ ...row, id, used: 0, last_end: 0 });
  put(bus, bus.peers.byId, id as PeerId, peer);
  put(bus, bus.peers.byHandle, handle, peer);
  peer.unread = 0;
  return peer;
}

/** Takes over what a register or session says of the peer; undefined leaves what was known. */
export function updatePeer(bus: Bus, peer: Peer, facts: PeerFacts): void {
  let changed = false;
  for (const key of ["display", "role", "client", "cwd", "version"] as const) {
    const value = facts[key];
    if (value === undefined || value === peer[key]) continue;
    set(bus, peer, key, value as never);
    changed = true;
  }
  if (changed) bus.store.updatePeer(peer.id, peer);
}

/** Why nobody may choose this handle for a session (taken, reserved, the owner's, a group's), or null. `self` may keep what it has. */
export function whyTaken(bus: Bus, handle: string, self: Peer | null): string | null {
  if (handle === bus.ownerHandle) return "it is the owner's";
  if (reservedHandles.includes(handle)) return "it is reserved";
  if (bus.groups.has(handle)) return "it is a group's";
  const peer = bus.peers.named(handle);
  return peer && liveSession(peer) && peer !== self ? "it is bound to another live session" : null;
}

/** Whether an automatic name may be this: no peer, live alias, group or reserved name has it. */
function isFree(bus: Bus, handle: string, self: Peer | null = null): boolean {
  return (
    validHandle.test(handle) &&
    !bus.peers.named(handle) &&
    (liveAlias(bus, handle) ?? self) === self &&
    !bus.groups.has(handle) &&
    !reservedHandles.includes(handle) &&
    handle !== bus.ownerHandle
  );
}

/** A free handle: `<client>-<slug of the folder's name>`, then with -2, -3 … within 48 characters. */
export function automaticHandle(bus: Bus, client: ClientName, cwd: string | null | undefined): string {
  const folder = slug((cwd ?? "").split(/[/\\]/).filter(Boolean).at(-1) ?? "");
  const base = (folder ? `${client}-${folder}` : client).slice(0, handleCharactersMax).replace(/-+$/, "");
  if (isFree(bus, base)) return base;
  for (let n = 2; ; n++) {
    const end = `-${n}`;
    const name = base.slice(0, handleCharactersMax - end.length).replace(/-+$/, "") + end;
    if (isFree(bus, name)) return name;
  }
}

/** The handle that a title gives, or null where its slug is none or is taken. `self` may take back a name that it had. */
export function titleHandle(bus: Bus, title: string, self: Peer | null): string | null {
  const name = slug(title);
  return isFree(bus, name, self) ? name : null;
}

/** An explicit choice of a name ends the alias that it was. */
export function endAlias(bus: Bus, handle: string): void {
  if (!bus.aliases.has(handle)) return;
  bus.store.deleteAlias(handle);
  drop(bus, bus.aliases, handle);
}

/** Gives a peer another handle. Everything follows; for a day the old one reaches it as an alias. */
export function renamePeer(bus: Bus, peer: Peer, handle: string): void {
  if (handle === peer.handle) return;
  const old = peer.handle;
  endAlias(bus, handle);
  bus.store.setHandle(peer.id, handle);
  drop(bus, bus.peers.byHandle, old);
  put(bus, bus.peers.byHandle, handle, peer);
  set(bus, peer, "handle", handle);
  bus.store.putAlias(old, peer.id, bus.now + dayMs);
  put(bus, bus.aliases, old, { peer, untilAt: bus.now + dayMs });
  tellWatchers(bus, null, [peer], () => ({ kind: "renamed", handle, from: old, at: bus.now }));
}

/** Says that a peer was seen now; the store hears of it later. */
export function touch(bus: Bus, peer: Peer): void {
  peer.lastSeenAt = bus.now;
  bus.seen.add(peer);
}

/** Removes a peer from memory and store. */
export function forgetPeer(bus: Bus, peer: Peer): void {
  bus.store.deletePeer(peer.id);
  drop(bus, bus.peers.byId, peer.id);
  drop(bus, bus.peers.byHandle, peer.handle);
  for (const [handle, alias] of bus.aliases) if (alias.peer === peer) drop(bus, bus.aliases, handle);
  for (const conn of bus.conns) if (conn.via === peer) set(bus, conn, "via", null);
  bus.seen.delete(peer);
  if (bus.present.delete(peer)) undo(bus, () => bus.present.add(peer));
}

/** Marks a peer as one that sent or received, so that prune leaves it. */
export function markUsed(bus: Bus, peer: Peer): void {
  if (peer.used) return;
  bus.store.setUsed(peer.id);
  set(bus, peer, "used", true);
}
