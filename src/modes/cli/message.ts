// How messages and deliveries look in every command that shows them.
import type { DeliveryRow, MatrixRow, Summary } from "../../protocol/schemas.ts";
import { harmless, harmlessLine } from "../../protocol/text.ts";
import {
  ago,
  bold,
  type Cell,
  dim,
  fitColumns,
  joined,
  peer,
  peerPaint,
  presencePaint,
  prose,
  state,
  statePaint,
  table,
  terminalWidth,
  verdict,
  verdictPaint,
  wrapped,
} from "./style.ts";

const recipientsShown = 5;

/** `m42`, bold. */
export const messageId = (id: number): string => bold(`m${id}`);

/** From whom to whom: `a via x → b, c +2`. */
export function route(m: Pick<Summary, "from" | "via" | "to">): string {
  const to =
    m.to.slice(0, recipientsShown).map(peer).join(", ") + (m.to.length > recipientsShown ? ` +${m.to.length - recipientsShown}` : "");
  return `${peer(m.from)}${m.via ? ` via ${peer(m.via)}` : ""} → ${to}`;
}

/** The line above a message: ids (the thread's only where it is not known already), route, what it answers, age, and the reader's own state of it. */
export function heading(m: Summary, inThread = false, columns = terminalWidth()): string {
  const place = inThread ? `#${m.seq}` : `thread ${m.threadId} #${m.seq}`;
  const parts = [`${messageId(m.id)} ${dim(place)}`, route(m)];
  if (m.replyTo !== null) parts.push(dim(`re m${m.replyTo}`));
  if (m.verdict) parts.push(verdict(m.verdict));
  if (m.mode !== "push" && m.kind === "ask") parts.push(dim(m.mode));
  parts.push(dim(ago(m.at)));
  if (m.state) parts.push(state(m.state));
  return joined(parts, columns);
}

/** A whole message: heading, body, references. */
export function wholeMessage(m: Summary, inThread = false, columns = terminalWidth()): string {
  const lines = [heading(m, inThread, columns), prose(harmless(m.body ?? m.firstLine), columns)];
  if (m.references.length) lines.push(dim(wrapped(`refs: ${m.references.map(harmlessLine).join(", ")}`, columns)));
  return lines.join("\n");
}

/** A message in two lines: heading, and its first line indented. */
export function briefMessage(m: Summary, inThread = false): string {
  const rest = m.truncated ? ` (${m.length} characters)` : "";
  const line = fitColumns(harmlessLine(m.firstLine), terminalWidth() - 2 - rest.length);
  return `${heading(m, inThread)}\n  ${line}${dim(rest)}`;
}

/** When a recipient sees a message. A person has no turns, and looks. */
const reachWords = { now: "at once", "next-turn": "at its next turn or look", "when-back": "when it is back" } as const;

/** A handle as a cell in its colour. */
export const handleCell = (handle: string): Cell => ({ text: harmlessLine(handle), paint: peerPaint(handle) });

/** Who gets a message, and how soon. */
export function deliveryTable(rows: DeliveryRow[], columns = terminalWidth()): string {
  const cells = rows.map((row): Cell[] => [
    handleCell(row.handle),
    { text: row.state, paint: statePaint[row.state] },
    { text: row.presence, paint: presencePaint[row.presence] },
    row.mode === "push"
      ? reachWords[row.reach]
      : `${row.mode}: ${row.mode === "notify" ? "one line at its next turn" : "only in its inbox"}`,
  ]);
  return table(["to", "state", "presence", "sees it"], cells, columns);
}

/** Who has answered an ask, and how. */
export function matrixTable(rows: MatrixRow[], columns = terminalWidth()): string {
  const cells = rows.map((row): Cell[] => [
    handleCell(row.handle),
    { text: row.state, paint: statePaint[row.state] },
    row.verdict ? { text: row.verdict, paint: verdictPaint[row.verdict] } : "",
    row.replyMessageId === null ? "" : `m${row.replyMessageId}`,
    row.repliedAt === null ? "" : ago(row.repliedAt),
    { text: row.presence, paint: presencePaint[row.presence] },
  ]);
  // Presence last: it is what a narrow terminal can do without.
  return table(["peer", "state", "verdict", "reply", "when", "presence"], cells, columns);
}
