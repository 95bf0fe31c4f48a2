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

const paint = (code: string) => (text: string) => (coloured && text ? `\x1b[${code}m${text}\x1b[0m` : text);
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

/** A paragraph behind an indent, broken between words where the terminal ends. */
export function indented(text: string, indent: number): string {
  const pad = " ".repeat(indent);
  const width = terminalWidth() - indent;
  return pad + (width === Number.POSITIVE_INFINITY ? text : Bun.wrapAnsi(text, Math.max(20, width))).replaceAll("\n", `\n${pad}`);
}

/** One cell: its text without colour, and how it is coloured. */
export type Cell = string | { text: string; paint: (text: string) => string };

const plain = (cell: Cell) => (typeof cell === "string" ? cell : cell.text);
const gap = 2;

/**
 * Aligned columns under dim headings. Columns with nothing in them are left out. Where the lines would be wider than the terminal,
 * the last columns are cut first: each keeps at least 8, and what still does not fit is left out.
 */
export function table(headings: string[], rows: Cell[][]): string {
  const used = headings.map((_, column) => rows.some((row) => plain(row[column] ?? "") !== ""));
  const keep = headings.map((_, column) => column).filter((column) => used[column]);
  const widths = keep.map((column) =>
    Math.max(...[headings[column] ?? "", ...rows.map((row) => plain(row[column] ?? ""))].map((t) => Bun.stringWidth(t))),
  );
  shrink(widths, terminalWidth());
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
