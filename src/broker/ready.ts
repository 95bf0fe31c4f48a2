// Which of the lines that wait make the next turn, so that none waits long behind another connection's.
import type { Conn } from "./bus.ts";
import { type Line, lastOfTurn, readLine } from "./dispatch.ts";

/**
 * Lines of one turn at the most, so that those who have their answers can ask on while the next turn is handled: with all that is in flight in one
 * turn, the broker and its clients would wait for each other.
 */
const turnLinesMax = 512;

/**
 * Takes the lines of a turn, round robin over the connections that are ready, as many of each as let all have their turn within two: so most of a
 * connection's answers leave in one write. Connections without further lines are no longer ready.
 */
export function takeLines(ready: Set<Conn>, mayRead: (conn: Conn) => boolean): Line[] {
  const lines: Line[] = [];
  let readable = [...ready].filter(mayRead);
  const share = Math.max(1, Math.floor((2 * turnLinesMax) / readable.length));
  while (readable.length && lines.length < turnLinesMax) readable = readable.filter((conn) => takeFrom(ready, conn, share, lines));
  return lines;
}

/** Takes up to `share` lines of a connection; whether it has more for this turn. Where it has more at all, it stands behind the others. */
function takeFrom(ready: Set<Conn>, conn: Conn, share: number, lines: Line[]): boolean {
  const upTo = Math.min(turnLinesMax, lines.length + share);
  let more = lines.length < upTo;
  if (more) ready.delete(conn);
  while (more && lines.length < upTo) {
    const line = readLine(conn, conn.lines.shift());
    lines.push(line);
    more = conn.lines.length > 0 && !line.tooLong && !(line.request && lastOfTurn.has(line.request.type));
  }
  if (conn.lines.length) ready.add(conn);
  return more;
}
