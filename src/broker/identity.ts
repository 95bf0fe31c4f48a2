// Who a connection is: register, binding, and finding the session whose process tree it comes from (semantics §4, §11).

import type { ClientKind } from "../protocol/constants.ts";
import { offlineGraceMs, reservedHandles } from "../protocol/constants.ts";
import { ProtocolError } from "../protocol/errors.ts";
import type { Fields } from "../protocol/schemas.ts";
import { type ProcessId, processTree } from "../system.ts";
import { add, type Bus, type Conn, due, type Peer, remove, type Session, set } from "./bus.ts";
import { pump, takeBackAll } from "./delivery.ts";
import { newsForListener } from "./news.ts";
import { automaticHandle, findPeer, liveAlias, makePeer, type PeerFacts, touch, updatePeer } from "./peers.ts";
import { countsForPresence, liveSession, tellPresence } from "./presence.ts";
import { lookAtTranscript } from "./proof.ts";

/** How a process is written as a key of `byHost`. */
export function hostKey(pid: number, start: string | number): string {
  return `${pid} ${start}`;
}

/** The key of a session. */
export function sessionKey(client: string, cliSessionId: string): string {
  return `${client}\n${cliSessionId}`;
}

function treeOf(bus: Bus, conn: Conn): ProcessId[] {
  conn.tree ??= conn.sink.pid === null ? [] : processTree(bus.system, conn.sink.pid);
  return conn.tree;
}

/** The one live session of a process; undefined where it has none, null where it may hold many and so says nothing. */
function sessionOfProcess(bus: Bus, pid: number, start: string | number): Session | null | undefined {
  const live = [...(bus.byHost.get(hostKey(pid, start)) ?? [])].filter((s) => s.endDueAt === 0);
  const [first] = live;
  if (!first) return undefined;
  return live.length === 1 && bus.port.get(first.client)?.conversations !== "many" ? first : null;
}

/**
 * The nearest live session: by host, then by the ancestors named, then by the broker's own walk from the connecting process. The nearest process
 * that has sessions decides: where it holds many, a CLI around it is not the speaker either.
 */
export function nearestSession(bus: Bus, conn: Conn, f: Pick<Fields<"register">, "host" | "ancestors">): Session | null {
  for (const { pid, start } of nearestFirst(bus, conn, f)) {
    const session = start === null ? undefined : sessionOfProcess(bus, pid, start);
    if (session !== undefined) return session;
  }
  return null;
}

function* nearestFirst(
  bus: Bus,
  conn: Conn,
  f: Pick<Fields<"register">, "host" | "ancestors">,
): Generator<{ pid: number; start: string | null }> {
  if (f.host) yield { pid: f.host.hostPid, start: String(f.host.hostStart) };
  for (const pid of f.ancestors ?? []) yield { pid, start: bus.system.processStart(pid) };
  yield* treeOf(bus, conn);
}

/** A command that acts as a live session's handle from outside of that session's process tree only looks: it moves nothing. */
export function peeks(bus: Bus, conn: Conn): boolean {
  const session = conn.kind === "cli" && conn.peer ? liveSession(conn.peer) : null;
  if (!session) return false;
  return !treeOf(bus, conn).some((p) => p.pid === session.hostPid && p.start === session.hostStart);
}

/** Refuses a handle that is not the connection's own, nor an alias of it. */
export function checkOwn(bus: Bus, own: Peer, handle: string): void {
  if (findPeer(bus, handle) !== own) throw new ProtocolError("bad_request", `handle: this connection is ${own.handle}, not ${handle}`);
}

/** Binds a connection to a peer. What it took for another one and did not confirm goes back. */
export function bind(bus: Bus, conn: Conn, peer: Peer, via: Peer | null, kind: ClientKind, listen: boolean | undefined): void {
  const rebound = conn.peer !== peer;
  if (conn.peer && rebound) unbind(bus, conn);
  set(bus, conn, "peer", peer);
  set(bus, conn, "via", via === peer ? null : via);
  set(bus, conn, "kind", kind);
  set(bus, conn, "boundAt", bus.mono);
  add(bus, peer.conns, conn);
  const listening = listen ?? conn.listening;
  if (listening && (rebound || !conn.listening)) set(bus, conn, "listenOrder", ++bus.nextListenOrder);
  const starts = listening && (rebound || !conn.listening);
  const stops = conn.listening && !listening;
  if (stops) stopListening(bus, conn);
  set(bus, conn, "listening", listening);
  touch(bus, peer);
  tellPresence(bus, peer);
  if (stops) pump(bus, peer);
  if (!starts) return;
  pump(bus, peer, true);
  newsForListener(bus, peer);
}

/** Pushes come no more on this connection, and those that it has not confirmed go back. The caller lets others take them. */
export function stopListening(bus: Bus, conn: Conn): void {
  set(bus, conn, "listening", false);
  if (conn.handouts.size && conn.peer?.session) lookAtTranscript(bus, conn.peer.session);
  takeBackAll(
    bus,
    [...conn.handouts].filter((handout) => handout.channel === "listener"),
    "closed",
  );
}

/** Takes a connection away from its peer; `online` peers without session get a few seconds to come back. */
export function unbind(bus: Bus, conn: Conn): void {
  const peer = conn.peer;
  if (!peer) return;
  remove(bus, peer.conns, conn);
  set(bus, conn, "peer", null);
  if (!liveSession(peer) && !peer.owner && countsForPresence(peer, conn) && ![...peer.conns].some((c) => countsForPresence(peer, c))) {
    set(bus, peer, "graceUntil", bus.mono + offlineGraceMs);
    due(bus, peer.graceUntil);
  }
  if (conn.handouts.size && peer.session) lookAtTranscript(bus, peer.session);
  for (const other of takeBackAll(bus, conn.handouts, "closed")) pump(bus, other);
  tellPresence(bus, peer);
}

/** The request `register`. */
export function register(bus: Bus, conn: Conn, f: Fields<"register">): { handle: string; owner: boolean; via: string | null } {
  const near = nearestSession(bus, conn, f)?.peer ?? null;
  const facts: PeerFacts = {};
  for (const key of ["display", "role", "client", "cwd", "version"] as const) if (f[key] !== undefined) facts[key] = f[key] as never;
  const peer = f.owner
    ? ownerFor(bus, f)
    : (namedPeer(bus, f, facts, near) ?? hintedPeer(bus, f) ?? near ?? itself(conn) ?? strangerFor(bus, f, facts));
  if (!f.owner && f.handle === undefined && !f.sessionHint && peer === near) updatePeer(bus, peer, pick(facts, ["display", "role"]));
  else updatePeer(bus, peer, f.owner ? pick(facts, ["display", "role"]) : facts);
  if (f.version !== undefined) set(bus, conn, "version", f.version);
  if (f.clientKind === "cli" && f.handle !== undefined)
    bus.log("info", "acts-as", { handle: peer.handle, pid: conn.sink.pid, via: near?.handle ?? null });
  bind(bus, conn, peer, near, f.clientKind, f.listen);
  return { handle: peer.handle, owner: peer.owner, via: conn.via?.handle ?? null };
}

function pick(facts: PeerFacts, keys: readonly (keyof PeerFacts)[]): PeerFacts {
  return Object.fromEntries(Object.entries(facts).filter(([key]) => keys.includes(key as keyof PeerFacts))) as PeerFacts;
}

function ownerFor(bus: Bus, f: Fields<"register">): Peer {
  if (f.handle !== undefined && f.handle !== bus.ownerHandle)
    throw new ProtocolError("bad_request", `handle: with owner: true it must be ${bus.ownerHandle} or absent, and is ${f.handle}`);
  return bus.owner;
}

function namedPeer(bus: Bus, f: Fields<"register">, facts: PeerFacts, near: Peer | null): Peer | null {
  if (f.handle === undefined) return null;
  const refuse = (why: string) => new ProtocolError("bad_request", `handle: ${f.handle} ${why}`);
  if (f.handle === bus.ownerHandle) throw refuse("is the owner's: say owner: true to speak as the owner");
  if (bus.groups.has(f.handle)) throw refuse("is a group's name; choose another");
  if (reservedHandles.includes(f.handle)) throw refuse("is reserved; choose another");
  // A session's own children may still know it by the name that it had.
  const renamed = liveAlias(bus, f.handle);
  if (renamed && renamed === near) return renamed;
  return bus.peers.named(f.handle) ?? makePeer(bus, f.handle, facts);
}

function hintedPeer(bus: Bus, f: Fields<"register">): Peer | null {
  return f.sessionHint === undefined ? null : hintedSessionPeer(bus, f.sessionHint, f.client);
}

/** The peer of the session that a hint names; `unknown_handle` where there is none. */
export function hintedSessionPeer(bus: Bus, hint: string, client: string | undefined): Peer {
  const live = client === undefined ? undefined : bus.sessions.get(sessionKey(client, hint));
  if (live) return live.peer;
  const row = client === undefined ? bus.store.sessionById(hint) : bus.store.session(client, hint);
  const peer = row && bus.peers.get(row.peer_id);
  if (peer) return peer;
  throw new ProtocolError("unknown_handle", `sessionHint: no session ${JSON.stringify(hint)} of ${client ?? "any client"} is known`);
}

/** Who says no more than before stays who it is; nobody is the owner without saying so. */
function itself(conn: Conn): Peer | null {
  return conn.peer && !conn.peer.owner ? conn.peer : null;
}

function strangerFor(bus: Bus, f: Fields<"register">, facts: PeerFacts): Peer {
  return makePeer(bus, automaticHandle(bus, f.client ?? "other", f.cwd), facts);
}
