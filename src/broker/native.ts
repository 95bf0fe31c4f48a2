// What a CLI's own channel says of a push, later (semantics §7).
import type { Bus, Session } from "./bus.ts";
import { takeBack } from "./delivery.ts";
import type { NativeOutcome } from "./ports.ts";

/** A native channel that failed is left alone for so long; one that refused, until the next session start. */
const nativeRestMs = 5 * 60_000;

/** A native channel's word about a push: held messages wait for the user, the rest falls back to hooks. */
export function nativeOutcome(bus: Bus, session: Session, ids: readonly number[], outcome: NativeOutcome): void {
  for (const id of ids) {
    const handout = session.peer.handouts.get(id);
    if (handout?.channel !== "native") continue;
    if (outcome.kind === "held") handout.held = true;
    else takeBack(bus, handout, outcome.kind === "refused" ? "refused" : "failed", true);
  }
  if (outcome.kind === "refused") session.nativeOffUntil = Number.POSITIVE_INFINITY;
  if (outcome.kind === "failed") session.nativeOffUntil = bus.mono + nativeRestMs;
}
