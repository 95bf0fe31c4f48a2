// How errors name a value that is not what it must be.

/** What came, in words short enough for an error. */
export function kindOf(value: unknown): string {
  if (value === undefined) return "missing";
  if (value === null || typeof value === "boolean" || typeof value === "number") return String(value);
  if (typeof value === "string") return value.length > 60 ? `a string of ${value.length} characters` : JSON.stringify(value);
  return Array.isArray(value) ? `an array of ${value.length}` : "an object";
}
