// Edits of Codex's config.toml: tables of ours at its end, found again by their headers. Everything is checked by reading the file before and after.
import { type EditedText, lineEnd } from "./hunks.ts";
import { BrokenFile } from "./json-edit.ts";

type Table = { [key: string]: unknown };

/** The file as values. Throws BrokenFile. */
export function readToml(text: string): Table {
  try {
    return Bun.TOML.parse(text) as Table;
  } catch (error) {
    throw new BrokenFile(`it is no TOML: ${error instanceof Error ? error.message : error}`);
  }
}

/** The value at a path; undefined where there is none. Throws BrokenFile. */
export function tomlValue(text: string, path: readonly string[]): unknown {
  let at: unknown = readToml(text);
  for (const step of path) at = typeof at === "object" && at !== null && Object.hasOwn(at, step) ? (at as Table)[step] : undefined;
  return at;
}

/** A header line for a path. */
export function tomlHeader(path: readonly string[]): string {
  return `[${path.map((p) => (/^[A-Za-z0-9_-]+$/.test(p) ? p : JSON.stringify(p))).join(".")}]`;
}

/** Puts tables at the end of the file. Throws BrokenFile where the file does not take them there. */
export function appendToml(edited: EditedText, path: readonly string[], tables: string): void {
  const before = readToml(edited.text);
  const wanted = tomlValue(tables, path);
  const eol = lineEnd(edited.text);
  const gap = edited.text === "" ? "" : edited.text.endsWith("\n") ? eol : eol + eol;
  const old = edited.text.length;
  edited.replace(old, 0, gap + tables.replaceAll("\n", eol));
  const after = without(readToml(edited.text), path);
  const same = Bun.deepEquals(pruned(after), pruned(without(before, path))) && Bun.deepEquals(tomlValue(edited.text, path), wanted);
  if (!same) throw new BrokenFile(`${path.join(".")} cannot be added to it`);
}

/** Takes out the tables at and under a path, with the empty line before the first. Throws BrokenFile where they are written in another way. */
export function removeToml(edited: EditedText, path: readonly string[]): void {
  if (tomlValue(edited.text, path) === undefined) return;
  const wanted = pruned(without(readToml(edited.text), path));
  for (let guard = 0; guard < 20 && tomlValue(edited.text, path) !== undefined; guard++) {
    const place = findTable(edited.text, path);
    if (!place) break;
    edited.replace(place.start, place.end - place.start, "");
  }
  if (!Bun.deepEquals(pruned(readToml(edited.text)), wanted))
    throw new BrokenFile(`${path.join(".")} is written in a way that init does not edit`);
}

/** From a header at or under `path` to the next header that is not; at the end of the file with the blank line before. */
function findTable(text: string, path: readonly string[]): { start: number; end: number } | null {
  let start = -1;
  for (const match of text.matchAll(/^[ \t]*\[[^\n]*$/gm)) {
    const under = headerPath(match[0]);
    const ours = under !== null && path.every((step, i) => under[i] === step);
    if (start < 0 && ours) start = match.index;
    else if (start >= 0 && !ours) return { start, end: match.index };
  }
  return start < 0 ? null : { start: backOverBlank(text, start), end: text.length };
}

function backOverBlank(text: string, at: number): number {
  const blank = /(?:\r?\n)(\r?\n)$/.exec(text.slice(Math.max(0, at - 4), at));
  return blank ? at - (blank[1] as string).length : at;
}

/** The path that a line is the header of, or null. */
function headerPath(line: string): string[] | null {
  try {
    const path: string[] = [];
    let at: unknown = Bun.TOML.parse(line);
    while (typeof at === "object" && at !== null && Object.keys(at).length === 1) {
      const key = Object.keys(at)[0] as string;
      path.push(key);
      at = (at as Table)[key];
    }
    return path.length ? path : null;
  } catch {
    return null;
  }
}

function without(table: Table, path: readonly string[]): Table {
  const copy = structuredClone(table);
  let at: Table = copy;
  for (const step of path.slice(0, -1)) {
    if (typeof at[step] !== "object" || at[step] === null) return copy;
    at = at[step] as Table;
  }
  delete at[path.at(-1) as string];
  return copy;
}

/** Without empty tables: `[a.b]` makes an `a` that goes with it. */
function pruned(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const out: Table = {};
  for (const [key, child] of Object.entries(value)) {
    const kept = pruned(child);
    if (!(typeof kept === "object" && kept !== null && !Array.isArray(kept) && Object.keys(kept).length === 0)) out[key] = kept;
  }
  return out;
}
