// How sessions end: by goodbye, by being replaced, by their host's death (semantics §4).
import { endGraceMs, offlineGraceMs } from "../protocol/constants.ts";
import { ProtocolError } from "../protocol/errors.ts";
import type { Fields } from "../protocol/schemas.ts";
import { type Bus, type Conn, drop, due, type Peer, remove, type Session, set } from "./bus.ts";
import { pump, takeBack } from "./delivery.ts";
import { bind, hostKey, sessionKey, stopListening } from "./identity.ts";
import { notify } from "./news.ts";
import { markUsed } from "./peers.ts";
import { liveSession, tellPresence } from "./presence.ts";
import { lookAtTranscript } from "./proof.ts";
import { forgetIfBare } from "./prune.ts";
import { checkWaits } from "./waits.ts";

/** Takes a session away from its process. */
export function takeOffHost(bus: Bus, s: Session): void {
  const key = hostKey(s.hostPid, s.hostStart);
  const here = bus.byHost.get(key);
  if (!here) return;
  remove(bus, here, s);
  if (!here.size) drop(bus, bus.byHost, key);
}

/** What hooks and natives took goes back, after one last look at the transcript. */
export function giveBack(bus: Bus, s: Session, outcome: "ended"): void {
  lookAtTranscript(bus, s);
  for (const handout of [...s.peer.handouts.values()])
    if (handout.channel === "hook" || handout.channel === "native") takeBack(bus, handout, outcome, false);
}

/** The event session-end of the request `session`: takes effect for notifications and waits a little later, since clear is an end and a start. */
export function endByRequest(bus: Bus, conn: Conn, f: Fields<"session">): Peer {
  const s = bus.sessions.get(sessionKey(f.client, f.cliSessionId));
  if (!s) {
    const row = bus.store.session(f.client, f.cliSessionId);
    const peer = row && bus.peers.get(row.peer_id);
    if (!peer)
      throw new ProtocolError("unknown_handle", `no session ${JSON.stringify(f.cliSessionId)} of ${f.client} is known, so none ends`);
    return peer;
  }
  const current = s.hostPid === f.host.hostPid && s.hostStart === String(f.host.hostStart);
  if (current && s.endDueAt === 0) {
    giveBack(bus, s, "ended");
    set(bus, s, "endDueAt", bus.mono + endGraceMs);
    due(bus, s.endDueAt);
    markEnd(bus, s, 1);
    for (const other of s.peer.conns) if (other.kind === "adapter" && other.listening) stopListening(bus, other);
    // What came back may have a listener that is no part of the session.
    pump(bus, s.peer);
  }
  if (!conn.peer) bind(bus, conn, s.peer, null, "hook", false);
  tellPresence(bus, s.peer);
  return s.peer;
}

function markEnd(bus: Bus, s: Session, how: 1 | 2): void {
  bus.store.endSession(s.id, bus.now);
  bus.store.setLastEnd(s.peer.id, how);
  set(bus, s.peer, "lastEnd", how);
  set(bus, s.peer, "endedAt", bus.mono);
}

/** Takes a session out of memory; the peer stays. */
export function leave(bus: Bus, s: Session): void {
  giveBack(bus, s, "ended");
  bus.store.endSession(s.id, bus.now);
  drop(bus, bus.sessions, sessionKey(s.client, s.cliSessionId));
  takeOffHost(bus, s);
  if (s.peer.session === s) set(bus, s.peer, "session", null);
  pump(bus, s.peer);
}

/** Ends a session for good (1 goodbye, 2 host gone): those who wait for its answers are told. */
export function finish(bus: Bus, s: Session, how: 1 | 2): void {
  const { peer } = s;
  bus.log("info", "session-ended", { handle: peer.handle, client: s.client, how: how === 1 ? "goodbye" : "host gone" });
  // An adapter that outlives its CLI is no way into it any more.
  for (const conn of peer.conns) if (conn.kind === "adapter" && conn.listening) stopListening(bus, conn);
  leave(bus, s);
  if (s.endDueAt === 0) markEnd(bus, s, how);
  tellAskers(bus, peer);
  tellPresence(bus, peer);
  if (s.headless) forgetIfBare(bus, peer);
  checkWaits(bus);
}

/** A peer has left: whoever has an unanswered message to it is told. */
export function tellAskers(bus: Bus, peer: Peer): void {
  for (const row of bus.store.unread(peer.id)) {
    const sender = row.reply_to === null ? bus.peers.get(row.sender_id) : undefined;
    if (sender && sender !== peer) notify(bus, sender, { kind: "peer_offline", threadId: row.thread_id, fromHandle: peer.handle });
  }
}

/** Ends the session of a recipient whose host is gone, so that what is sent to it says so at once and not at the next look at all hosts. */
export function noticeDeath(bus: Bus, peer: Peer): void {
  const s = liveSession(peer);
  if (!s || bus.system.alive(s.hostPid)) return;
  // It is about to be sent to, so it is not forgotten with its last run.
  markUsed(bus, peer);
  finish(bus, s, 2);
}

/** Session ends whose grace is over, and hosts that went away. Returns when to come again (monotonic ms). */
export function checkSessions(bus: Bus): number {
  let next = Number.POSITIVE_INFINITY;
  for (const s of [...bus.sessions.values()]) {
    if (s.endDueAt === 0) continue;
    if (s.endDueAt <= bus.mono) finish(bus, s, 1);
    else next = Math.min(next, s.endDueAt);
  }
  if (bus.mono >= bus.nextHostCheckAt) {
    for (const s of [...bus.sessions.values()]) if (s.endDueAt === 0 && !hostLives(bus, s)) finish(bus, s, 2);
    bus.nextHostCheckAt = bus.sessions.size ? bus.mono + offlineGraceMs : Number.POSITIVE_INFINITY;
  }
  return Math.min(next, bus.nextHostCheckAt);
}

/** Only a missing process or another start time means dead. */
export function hostLives(bus: Bus, s: Pick<Session, "hostPid" | "hostStart">): boolean {
  return bus.system.processStart(s.hostPid) === s.hostStart;
}
