// How messages and deliveries look in every command that shows them.
import type { DeliveryRow, MatrixRow, Summary } from "../../protocol/schemas.ts";
import { harmless, harmlessLine } from "../../protocol/text.ts";
import {
  ago,
  bold,
  type Cell,
  dim,
  fitColumns,
  peer,
  peerPaint,
  presencePaint,
  state,
  statePaint,
  table,
  terminalWidth,
  verdict,
  verdictPaint,
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
export function heading(m: Summary, inThread = false): string {
  const place = inThread ? `#${m.seq}` : `thread ${m.threadId} #${m.seq}`;
  const parts = [`${messageId(m.id)} ${dim(place)}`, route(m)];
  if (m.replyTo !== null) parts.push(dim(`re m${m.replyTo}`));
  if (m.verdict) parts.push(verdict(m.verdict));
  if (m.mode !== "push" && m.kind === "ask") parts.push(dim(m.mode));
  parts.push(dim(ago(m.at)));
  if (m.state) parts.push(state(m.state));
  return parts.join(" · ");
}

/** A whole message: heading, body, references. */
export function wholeMessage(m: Summary, inThread = false): string {
  const lines = [heading(m, inThread), harmless(m.body ?? m.firstLine)];
  if (m.references.length) lines.push(dim(`refs: ${m.references.map(harmlessLine).join(", ")}`));
  return lines.join("\n");
}

/** A message in two lines: heading, and its first line indented. */
export function briefMessage(m: Summary, inThread = false): string {
  const rest = m.truncated ? ` ${dim(`(${m.length} characters)`)}` : "";
  return `${heading(m, inThread)}\n  ${fitColumns(harmlessLine(m.firstLine), terminalWidth() - 2)}${rest}`;
}

const reachWords = { now: "can see it now", "next-turn": "sees it at its next turn", "when-back": "sees it when it is back" } as const;

/** A handle as a cell in its colour. */
export const handleCell = (handle: string): Cell => ({ text: harmlessLine(handle), paint: peerPaint(handle) });

/** Who gets a message, and how soon. */
export function deliveryTable(rows: DeliveryRow[]): string {
  const cells = rows.map((row): Cell[] => [
    handleCell(row.handle),
    { text: row.state, paint: statePaint[row.state] },
    { text: row.presence, paint: presencePaint[row.presence] },
    row.mode === "push"
      ? reachWords[row.reach]
      : `${row.mode}: ${row.mode === "notify" ? "one line at its next turn" : "only in its inbox"}`,
  ]);
  return table(["to", "state", "presence", "when"], cells);
}

/** Who has answered an ask, and how. */
export function matrixTable(rows: MatrixRow[]): string {
  const cells = rows.map((row): Cell[] => [
    handleCell(row.handle),
    { text: row.state, paint: statePaint[row.state] },
    { text: row.presence, paint: presencePaint[row.presence] },
    row.verdict ? { text: row.verdict, paint: verdictPaint[row.verdict] } : "",
    row.replyMessageId === null ? "" : `m${row.replyMessageId}`,
    row.repliedAt === null ? "" : ago(row.repliedAt),
  ]);
  return table(["peer", "state", "presence", "verdict", "reply", "when"], cells);
}
