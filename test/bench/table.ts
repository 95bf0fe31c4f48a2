// The rows of the one table, how they are judged, and how they are written down.
import { cpus, release, totalmem } from "node:os";

/** One figure against its floor. Times in ms unless `unit` says otherwise; `ratio` is figure ÷ floor, or ÷ peer. */
export type Row = {
  what: string;
  /** What was measured, as text with its unit. */
  measured: string;
  /** What it is held against, as text with its unit. */
  floor: string;
  /** The figure that the goal is about; NaN where there is none. */
  ratio: number;
  /** The goal as text. */
  goal: string;
  /** Null where there is no goal: a figure that explains others. */
  met: boolean | null;
};

export const ms = (value: number): string => `${value < 10 ? value.toFixed(2) : value.toFixed(1)} ms`;
export const rate = (value: number): string => `${Math.round(value).toLocaleString("en-US")}/s`;
export const mib = (value: number): string => `${value.toFixed(1)} MiB`;

/** A row whose ratio must not be above `max`. */
export function atMost(what: string, measured: string, floor: string, ratio: number, max: number): Row {
  return { what, measured, floor, ratio, goal: `≤ ${max} ×`, met: ratio <= max };
}

/** A row whose ratio must not be below `min`. */
export function atLeast(what: string, measured: string, floor: string, ratio: number, min: number): Row {
  return { what, measured, floor, ratio, goal: `≥ ${min} ×`, met: ratio >= min };
}

/** A row with a limit of its own instead of a floor. */
export function within(what: string, measured: string, value: number, max: number, goal: string): Row {
  return { what, measured, floor: "", ratio: Number.NaN, goal, met: value <= max };
}

/** A row that only explains others; `ratio` NaN where there is nothing to compare. */
export function known(what: string, measured: string, floor = "", ratio = Number.NaN): Row {
  return { what, measured, floor, ratio, goal: "", met: null };
}

const cells = (row: Row): string[] => [
  row.what,
  row.measured,
  row.floor,
  Number.isNaN(row.ratio) ? "" : row.ratio.toFixed(2),
  row.goal,
  row.met === null ? "" : row.met ? "met" : "MISSED",
];
const heading = ["what", "measured", "against", "ratio", "goal", ""];

/** The table for a terminal. */
export function plainTable(rows: readonly Row[]): string {
  const lines = [heading, ...rows.map(cells)];
  const widths = heading.map((_, column) => Math.max(...lines.map((line) => Bun.stringWidth(line[column] ?? ""))));
  return lines
    .map((line) =>
      line
        .map((cell, at) => cell + " ".repeat((widths[at] ?? 0) - Bun.stringWidth(cell)))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** The table as Markdown. */
export function markdownTable(rows: readonly Row[]): string {
  const line = (cellTexts: readonly string[]): string => `| ${cellTexts.join(" | ")} |`;
  return [line(heading), line(heading.map(() => "---")), ...rows.map((row) => line(cells(row)))].join("\n");
}

/** One line on the machine: processor, cores, memory, kernel. */
export function machine(): string {
  const [first] = cpus();
  return `${first?.model.trim() ?? "unknown processor"}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, ${process.platform} ${release()}`;
}
