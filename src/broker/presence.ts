// Whether a peer is there, and how soon it can see a message (semantics §4, §5).
import { busyStaleMs, type Presence, type Reach } from "../protocol/constants.ts";
import { add, type Bus, type Conn, type Peer, remove, type Session, set, tellWatchers } from "./bus.ts";
import type { CliPort, SessionView } from "./ports.ts";

/** A peer's presence now. */
export function presenceOf(bus: Bus, peer: Peer): Presence {
  const session = liveSession(peer);
  if (session) return session.busy && bus.mono - session.lastEventAt < busyStaleMs ? "busy" : "idle";
  if (peer.owner || hasConnection(peer) || bus.mono < peer.graceUntil) return "online";
  return peer.lastEnd === 2 ? "presumed-offline" : "offline";
}

/** The peer's session, unless it has said goodbye. */
export function liveSession(peer: Peer): Session | null {
  return peer.session && peer.session.endDueAt === 0 ? peer.session : null;
}

/** A connection that was bound before the peer's session ended is a child that outlived its CLI, and proves nothing. */
function hasConnection(peer: Peer): boolean {
  for (const conn of peer.conns) if (countsForPresence(peer, conn)) return true;
  return false;
}

/** Whether a connection makes its peer online. */
export function countsForPresence(peer: Peer, conn: Conn): boolean {
  return peer.lastEnd === 0 || conn.boundAt > peer.endedAt;
}

/** Whether a peer is neither offline nor presumed-offline. */
export function isHere(bus: Bus, peer: Peer, presence: Presence = presenceOf(bus, peer)): boolean {
  return presence !== "offline" && presence !== "presumed-offline";
}

/** How soon a peer can see a message that is sent to it now. `quiet` messages wake nobody: no push takes them. */
export function reachOf(bus: Bus, peer: Peer, quiet = false, presence: Presence = presenceOf(bus, peer)): Reach {
  if (!quiet && (newestListener(peer) || nativeFor(bus, peer))) return "now";
  return isHere(bus, peer, presence) ? "next-turn" : "when-back";
}

/** The listening connection that was bound last. */
export function newestListener(peer: Peer): Conn | null {
  let newest: Conn | null = null;
  for (const conn of peer.conns) if (conn.listening && (!newest || conn.listenOrder > newest.listenOrder)) newest = conn;
  return newest;
}

/** What is known of a peer's CLI. */
export function portOf(bus: Bus, peer: Peer): CliPort {
  const client = peer.session?.client ?? peer.client ?? "other";
  return (bus.port.get(client) ?? bus.port.get("other")) as CliPort;
}

/** The session whose own channel can take a message now, or null. */
export function nativeFor(bus: Bus, peer: Peer): Session | null {
  const session = liveSession(peer);
  if (!session || session.bypass || session.headless || bus.mono < session.nativeOffUntil) return null;
  return portOf(bus, peer).native?.available(viewOf(session)) ? session : null;
}

/** What a CLI is told of a session. */
export function viewOf(session: Session): SessionView {
  const { client, cliSessionId, hostPid, hostStart, transcriptPath, cwd, native } = session;
  return { client, cliSessionId, hostPid, hostStart, transcriptPath, cwd, native };
}

/** Notes whether a peer is here, and tells watchers when its presence is another than they were told last. */
export function tellPresence(bus: Bus, peer: Peer): void {
  const presence = presenceOf(bus, peer);
  if (presence === "offline" || presence === "presumed-offline") remove(bus, bus.present, peer);
  else add(bus, bus.present, peer);
  if (peer.told === presence) return;
  set(bus, peer, "told", presence);
  tellWatchers(bus, null, [peer], () => ({ kind: "presence", handle: peer.handle, presence, at: bus.now }));
}
