// Where the reading of a session's transcript starts: at a hand-over, or after a restart (semantics §7).
import type { TailMark } from "../system.ts";
import { type Bus, due, type Session } from "./bus.ts";

/** How often open hand-overs are looked after, in ms. */
export const proofEveryMs = 1_000;

/** Starts reading a session's transcript from where it stands now; the mark for the store, or null where there is nothing to read. */
export function startTail(bus: Bus, session: Session | null): string | null {
  if (!session?.transcriptPath) return null;
  const port = bus.port.get(session.client);
  if (port?.proof !== "transcript" || !port.proofReader) return null;
  if (session.tail?.path !== session.transcriptPath) {
    const mark = bus.system.tailMark(session.transcriptPath);
    session.tail = { reader: port.proofReader(), mark, path: session.transcriptPath };
  }
  bus.nextProofAt = Math.min(bus.nextProofAt, bus.mono + proofEveryMs);
  due(bus, bus.nextProofAt);
  const { mark } = session.tail;
  return mark ? `${mark.inode}:${mark.size}` : "0:0";
}

/** Goes on reading a transcript after a restart, from the mark of a stored hand-over. */
export function resumeTail(bus: Bus, session: Session, mark: string | null): void {
  const port = bus.port.get(session.client);
  if (!mark || session.tail || !session.transcriptPath || port?.proof !== "transcript" || !port.proofReader) return;
  const [inode = 0, size = 0] = mark.split(":").map(Number);
  const from: TailMark | null = inode ? { inode, size } : null;
  session.tail = { reader: port.proofReader(), mark: from, path: session.transcriptPath };
  bus.nextProofAt = Math.min(bus.nextProofAt, bus.mono + proofEveryMs);
  due(bus, bus.nextProofAt);
}

/** Whether nothing but the session's next hook event can tell that it had the text. */
export function provesByHook(bus: Bus, session: Session | null): boolean {
  if (!session) return true;
  const proof = bus.port.get(session.client)?.proof ?? "none";
  return proof === "none" || (proof === "transcript" && !session.transcriptPath);
}
