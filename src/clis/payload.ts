// Taking a hostile payload or transcript row apart: whatever has the wrong type or size is as if it were absent.

export type Payload = Readonly<Record<string, unknown>>;

/** The value as an object, or null for anything else (arrays too). */
export function asObject(value: unknown): Payload | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Payload) : null;
}

/** A JSON text as an object, or null. Never throws. */
export function parseObject(json: string): Payload | null {
  try {
    return asObject(JSON.parse(json));
  } catch {
    return null;
  }
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
