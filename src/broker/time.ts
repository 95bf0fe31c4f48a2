// Deadlines of connections: those that do not say who they are, and those that have just gone (semantics §3, §4).
import type { Bus } from "./bus.ts";
import { isHere, tellPresence } from "./presence.ts";
import { tellAskers } from "./session-ends.ts";
import { checkWaits } from "./waits.ts";

/** Peers whose last connection closed a few seconds ago are offline now. Returns when to look again (monotonic ms). */
export function checkGrace(bus: Bus): number {
  let next = Number.POSITIVE_INFINITY;
  let left = false;
  for (const peer of [...bus.present]) {
    if (peer.graceUntil > bus.mono) next = Math.min(next, peer.graceUntil);
    else if (peer.graceUntil > 0) {
      peer.graceUntil = 0;
      tellPresence(bus, peer);
      if (!isHere(bus, peer)) tellAskers(bus, peer);
      left = true;
    }
  }
  if (left) checkWaits(bus);
  return next;
}

/** Connections that did not authenticate in time are closed. Returns when to look again (monotonic ms). */
export function checkAuth(bus: Bus): number {
  let next = Number.POSITIVE_INFINITY;
  for (const conn of bus.conns) {
    if (conn.authed || conn.closing) continue;
    if (conn.authDeadline <= bus.mono) {
      conn.closing = true;
      conn.sink.end();
    } else next = Math.min(next, conn.authDeadline);
  }
  return next;
}
