// Taking a hostile payload or transcript row apart: whatever has the wrong type or size is as if it were absent.
import { tagIds } from "../protocol/tag.ts";

/** Longer texts are counted before they are parsed: millions of tiny values take seconds, a text of the same length a few ms. */
const countedFrom = 262_144;
const valuesMax = 50_000;
const idsMax = 1000;

export type Payload = Readonly<Record<string, unknown>>;

/** The value as an object, or null for anything else (arrays too). */
export function asObject(value: unknown): Payload | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Payload) : null;
}

/** A JSON text as an object, or null, also for one of very many values. Never throws, and looks no further where it does not begin as an object. */
export function parseObject(json: string): Payload | null {
  return json.trimStart().startsWith("{") ? asObject(parseJson(json)) : null;
}

/** The value of a JSON text; undefined for what is none, and for one of very many values. Never throws. */
export function parseJson(json: string): unknown {
  if (json.length > countedFrom && hasManyValues(json)) return undefined;
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** Counts what opens or divides values outside of strings; strings are leapt over. */
function hasManyValues(json: string): boolean {
  let count = 0;
  for (let i = 0; i < json.length && count <= valuesMax; i++) {
    const unit = json.charCodeAt(i);
    if (unit === 0x22) i = stringEnd(json, i);
    else if (unit === 0x2c || unit === 0x5b || unit === 0x7b) count++;
  }
  return count > valuesMax;
}

/** Where the string that opens at `from` closes: at the first quote behind an even number of backslashes. */
function stringEnd(json: string, from: number): number {
  for (let end = json.indexOf('"', from + 1); end >= 0; end = json.indexOf('"', end + 1)) {
    let slashes = 0;
    while (json.charCodeAt(end - 1 - slashes) === 0x5c) slashes++;
    if (slashes % 2 === 0) return end;
  }
  return json.length;
}

/** A row of a JSONL transcript as an object; null at once for what cannot be a whole one, since each exception costs more than a row. */
export function parseRow(row: string): Payload | null {
  return row.startsWith("{") && row.endsWith("}") ? parseObject(row) : null;
}

/** The ids of our tags in the texts of one row, each once; no row of ours has more than the first thousand. */
export function idsOf(texts: readonly string[]): number[] {
  return [...new Set(texts.flatMap(tagIds))].slice(0, idsMax);
}

/** The first of the fields that is a string of 1 to `max` UTF-16 units. */
export function textField(from: Payload, max: number, ...names: string[]): string | undefined {
  for (const name of names) {
    const value = Object.hasOwn(from, name) ? from[name] : undefined;
    if (typeof value === "string" && value.length > 0 && value.length <= max) return value;
  }
  return undefined;
}

/** The texts of a content field: a string, or an array of strings and `{text}` parts. */
export function contentTexts(content: unknown): string[] {
  if (typeof content === "string") return [content];
  if (!Array.isArray(content)) return [];
  const texts: string[] = [];
  for (const part of content) {
    if (typeof part === "string") texts.push(part);
    else if (typeof asObject(part)?.text === "string") texts.push(asObject(part)?.text as string);
  }
  return texts;
}

/** Drops keys whose value is undefined, so that optional fields stay absent. */
export function present<T extends object>(fields: { [K in keyof T]: T[K] | undefined }): T {
  const out: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(fields)) if (value !== undefined) out[key] = value;
  return out as T;
}
