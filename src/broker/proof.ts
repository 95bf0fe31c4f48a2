// Proof of delivery: what a session's transcript gained since the hand-over, and windows that run out (semantics §7).
import { busyStaleMs } from "../protocol/constants.ts";
import { type Bus, type Handout, type Peer, type Session, set } from "./bus.ts";
import { advance, pump, takeBack } from "./delivery.ts";
import { liveSession, viewOf } from "./presence.ts";
import { proofEveryMs, provesByHook } from "./tails.ts";

/** How much of a transcript is read at a time. */
const tailBytesMax = 262_144;

/** Reads what a session's transcript gained; proven messages move on, also those that went back to queued meanwhile. */
export function lookAtTranscript(bus: Bus, session: Session): void {
  const tail = session.tail;
  if (!tail) return;
  const chunk = bus.system.tail(tail.path, tail.mark, tailBytesMax);
  if (!chunk) return;
  set(bus, tail, "mark", chunk.mark);
  const proven = new Set<number>();
  for (const row of chunk.rows) if (row) for (const id of provenBy(bus, tail.reader, row)) proven.add(id);
  for (const id of proven) prove(bus, session, id);
}

/** What hooks took before is confirmed by the next event of a session that nothing else can prove anything of. */
export function confirmUnproven(bus: Bus, peer: Peer): void {
  if (!provesByHook(bus, liveSession(peer))) return;
  for (const handout of [...peer.handouts.values()])
    if (handout.channel === "hook") advance(bus, handout.messageId, peer, "delivered", "unproven");
}

function provenBy(bus: Bus, reader: (row: string) => number[], row: string): number[] {
  try {
    return reader(row);
  } catch (error) {
    // A transcript is somebody else's file: a row that no reader understands proves nothing.
    bus.log("debug", "proof-row", { error: String(error) });
    return [];
  }
}

function prove(bus: Bus, session: Session, messageId: number): void {
  if (!Number.isSafeInteger(messageId) || messageId < 1) return;
  const row = bus.store.delivery(messageId, session.peer.id);
  // Only what was once handed to this session can be proven by its transcript.
  if (row && row.attempts > 0) advance(bus, messageId, session.peer, "delivered", "proven");
}

/** A hook event of the session: it could have taken what was handed over, so windows that stood still run from now. */
export function sessionWasActive(bus: Bus, session: Session): void {
  for (const handout of session.peer.handouts.values())
    if (handout.atMono >= session.lastEventAt) handout.deadline = Math.max(handout.deadline, bus.mono + bus.limits.proofWindowMs);
  session.lastEventAt = bus.mono;
}

/** The window stands still while the session cannot have taken the text. */
function standsStill(bus: Bus, handout: Handout): boolean {
  if (handout.held) return true;
  const session = liveSession(handout.peer);
  if (!session) return false;
  // Busy for long without a word is idle (semantics §4): a session that hangs must not keep its mail for ever.
  const busy = session.busy && bus.mono - session.lastEventAt < busyStaleMs;
  if (busy && session.lastEventAt <= handout.atMono) return true;
  const native = handout.channel === "native" ? bus.port.get(session.client)?.native : undefined;
  return native?.holds?.(viewOf(session), [handout.messageId]) ?? false;
}

/** Looks at transcripts with open hand-overs, and takes back what had its time. Returns when to come again. */
export function checkProofs(bus: Bus): number {
  if (bus.mono >= bus.nextProofAt) {
    const sessions = new Set<Session>();
    for (const handout of bus.handouts) {
      const session = handout.peer.session;
      if (session?.tail && handout.channel !== "wait") sessions.add(session);
    }
    for (const session of sessions) lookAtTranscript(bus, session);
    bus.nextProofAt = sessions.size ? bus.mono + proofEveryMs : Number.POSITIVE_INFINITY;
  }
  let next = bus.nextProofAt;
  for (const handout of [...bus.handouts]) {
    if (handout.deadline <= bus.mono && !expire(bus, handout)) continue;
    next = Math.min(next, handout.deadline);
  }
  return next;
}

/** A window that has run out: true when it was given more time. */
function expire(bus: Bus, handout: Handout): boolean {
  const { peer } = handout;
  if (standsStill(bus, handout)) {
    handout.deadline = bus.mono + bus.limits.proofWindowMs;
    return true;
  }
  if (peer.session) lookAtTranscript(bus, peer.session);
  if (!bus.handouts.has(handout)) return false;
  takeBack(bus, handout, "no-proof", handout.channel === "listener" || handout.channel === "native");
  pump(bus, peer);
  return false;
}
