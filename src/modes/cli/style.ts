// How commands write for people: colour only on a terminal, columns that fit it, times in words. Texts of peers are made harmless here.

import type { DeliveryState, Presence, Verdict } from "../../protocol/constants.ts";
import { ageWords, harmlessLine } from "../../protocol/text.ts";
import { isTerminal } from "./terminal.ts";

/** Whether standard output is a terminal. */
export const onTerminal = isTerminal(1);
const coloured = onTerminal && !process.env.NO_COLOR && process.env.TERM !== "dumb";

/** Columns of the terminal; a pipe is never cut. */
export function terminalWidth(): number {
  return onTerminal ? process.stdout.columns || Number(process.env.COLUMNS) || 80 : Number.POSITIVE_INFINITY;
}

/** Ends only what it began, so that a coloured word inside bold text does not end the bold. */
const paint = (code: string) => (text: string) =>
  coloured && text ? `\x1b[${code}m${text}\x1b[${code === "1" || code === "2" ? 22 : 39}m` : text;
export const bold = paint("1");
export const dim = paint("2");
export const red = paint("31");
export const green = paint("32");
export const yellow = paint("33");
export const blue = paint("34");
export const cyan = paint("36");

const peerColours = [
  paint("36"),
  paint("35"),
  paint("33"),
  paint("32"),
  paint("34"),
  paint("96"),
  paint("95"),
  paint("93"),
  paint("92"),
  paint("94"),
];

/** The colour that a handle always has. */
export function peerPaint(handle: string): (text: string) => string {
  let hash = 0;
  for (const unit of handle) hash = (hash * 31 + (unit.codePointAt(0) ?? 0)) >>> 0;
  return peerColours[hash % peerColours.length] ?? bold;
}

/** A handle in its colour. */
export const peer = (handle: string): string => peerPaint(handle)(harmlessLine(handle));

/** How a presence is coloured. */
export const presencePaint: Record<Presence, (text: string) => string> = {
  online: green,
  busy: yellow,
  idle: green,
  offline: dim,
  "presumed-offline": red,
};
/** A presence by word and colour. */
export const presence = (word: Presence): string => presencePaint[word](word);

/** How a delivery state is coloured. */
export const statePaint: Record<DeliveryState, (text: string) => string> = {
  queued: yellow,
  sent: blue,
  delivered: cyan,
  acknowledged: green,
  replied: green,
};
/** A delivery state by word and colour. */
export const state = (word: DeliveryState): string => statePaint[word](word);

/** How a verdict is coloured. */
export const verdictPaint: Record<Verdict, (text: string) => string> = { agree: green, disagree: red, info: blue };
/** A verdict by word and colour; nothing for none. */
export const verdict = (word: Verdict | null): string => (word ? verdictPaint[word](word) : "");

/** How much is left until a Unix time in ms, begun minutes and hours counted whole: a time that was just given is said as it was given. */
export function left(until: number): string {
  return ageWords(until - Date.now() + 59_999);
}

/** How long ago a Unix time in ms was: `now`, `3 min ago`. A time in the future (a clock that jumped) is `now`. */
export function ago(at: number): string {
  const ms = Date.now() - at;
  return ms < 2_000 ? "now" : `${ageWords(ms)} ago`;
}

/** A time of day for lines that come as they happen. */
export function clock(at: number): string {
  return new Date(at).toTimeString().slice(0, 8);
}

/** Cuts text without colour to a number of columns, wide characters counted as two, and says so by `…`. Bun.sliceAnsi makes wide text too long. */
export function fitColumns(text: string, columns: number): string {
  if (columns === Number.POSITIVE_INFINITY || Bun.stringWidth(text) <= columns) return text;
  let out = "";
  let used = 1;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    used += Bun.stringWidth(segment);
    if (used > columns) break;
    out += segment;
  }
  return `${out}…`;
}

const columnsMin = 20;
/** Columns between columns. */
const gap = 2;

/** Text broken between words at a number of columns. */
export function wrapped(text: string, columns = terminalWidth()): string {
  return columns === Number.POSITIVE_INFINITY ? text : Bun.wrapAnsi(text, Math.max(columnsMin, columns), { hard: true });
}

/** A message's text, broken between words. Lines that begin with a space are most likely code, and stay as they are. */
export function prose(text: string, columns = terminalWidth()): string {
  const lines = text.split("\n");
  return lines.map((line) => (/^\s/.test(line) ? line : wrapped(line, columns))).join("\n");
}

/** Text behind an indent, broken between words where the terminal ends. */
export function indented(text: string, indent: number, columns = terminalWidth()): string {
  return prose(text, columns - indent).replace(/^/gm, " ".repeat(indent));
}

/** The same, but for its first line, before which something stands already. */
export function hanging(text: string, indent: number, columns = terminalWidth()): string {
  return indented(text, indent, columns).slice(indent);
}

/** Columns of help, which is often read through a pager: a pipe gets what fits every terminal. */
export const helpColumns = (): number => (onTerminal ? Math.min(terminalWidth(), 100) : 80);

/** Commands with what each does, for the end of a help text. Beside each other where that fits. */
export function examples(title: string, rows: readonly [string, string][]): string {
  const width = Math.max(...rows.map(([command]) => command.length)) + gap;
  const beside = rows.every(([, text]) => 2 + width + text.length <= helpColumns());
  const lines = rows.map(([command, text]) => (beside ? `  ${command.padEnd(width)}${text}` : `  ${command}\n${indented(text, 6)}`));
  return [bold(title), ...lines].join("\n");
}

const noBreak = "\u00a0";

/** Parts in a line, with dots between them. Where it is too long it goes on in another, indented line with the next part. */
export function joined(parts: string[], columns = terminalWidth()): string {
  const indent = 2;
  const kept = parts.map((part) => (Bun.stringWidth(part) < columns - 2 * indent ? part.replaceAll(" ", noBreak) : part));
  return hanging(kept.join(`${noBreak}· `), indent, columns).replaceAll(noBreak, " ");
}

/** Labels and what each is, one a line. */
export function facts(rows: [string, string][]): string {
  const width = Math.max(...rows.map(([label]) => label.length)) + 1;
  return rows.map(([label, value]) => `${dim(label.padEnd(width))} ${hanging(value, width + 1)}`).join("\n");
}

/** One cell: its text without colour, and how it is coloured. */
export type Cell = string | { text: string; paint: (text: string) => string };

const plain = (cell: Cell) => (typeof cell === "string" ? cell : cell.text);

/**
 * Aligned columns under dim headings. Columns with nothing in them are left out. Where the lines would be wider than the terminal,
 * the last columns are cut first: each keeps at least 8, and what still does not fit is left out.
 */
export function table(headings: string[], rows: Cell[][], columns = terminalWidth()): string {
  const used = headings.map((_, column) => rows.some((row) => plain(row[column] ?? "") !== ""));
  const keep = headings.map((_, column) => column).filter((column) => used[column]);
  const widths = keep.map((column) =>
    Math.max(...[headings[column] ?? "", ...rows.map((row) => plain(row[column] ?? ""))].map((t) => Bun.stringWidth(t))),
  );
  shrink(widths, columns);
  const line = (cells: Cell[]) =>
    keep
      .map((column, i) => aligned(cells[column] ?? "", widths[i] ?? 0))
      .join("")
      .trimEnd();
  return [line(headings.map((text) => ({ text, paint: dim }))), ...rows.map(line)].join("\n");
}

function shrink(widths: number[], total: number): void {
  let over = widths.reduce((sum, width) => sum + width + gap, -gap) - total;
  for (let i = widths.length - 1; i > 0 && over > 0; i--) {
    const width = widths[i] ?? 0;
    const smaller = Math.max(Math.min(width, 8), width - over);
    over -= width - smaller;
    widths[i] = smaller;
  }
  while (over > 0 && widths.length > 1) over -= (widths.pop() ?? 0) + gap;
}

function aligned(cell: Cell, width: number): string {
  if (width === 0) return "";
  const text = fitColumns(plain(cell), width);
  const space = " ".repeat(Math.max(0, width - Bun.stringWidth(text)) + gap);
  return (typeof cell === "string" ? text : cell.paint(text)) + space;
}

/** What a duration argument such as `90s`, `2h`, `500ms` or `90` (seconds) means in ms, or null. */
export function durationMs(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|min|h|d)?$/.exec(text);
  if (!match) return null;
  const unit = { ms: 1, s: 1000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 }[match[2] ?? "s"] ?? 1000;
  return Math.round(Number(match[1]) * unit);
}
