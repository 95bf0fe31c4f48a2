// Whether a frame is what a test expects: objects may have more keys, arrays must have the same length, `/…/` is a pattern.

/** What differs, as `path: expected … got …`, or null where `got` matches `want`. */
export function mismatch(want: unknown, got: unknown, path = "frame"): string | null {
  if (typeof want === "string" && want.length > 2 && want.startsWith("/") && want.endsWith("/"))
    return typeof got === "string" && new RegExp(want.slice(1, -1), "s").test(got) ? null : differs(path, want, got);
  if (want === null || typeof want !== "object") return Object.is(want, got) ? null : differs(path, want, got);
  if (got === null || typeof got !== "object" || Array.isArray(want) !== Array.isArray(got)) return differs(path, want, got);
  if (Array.isArray(want) && want.length !== (got as unknown[]).length) return differs(path, want, got);
  for (const [key, value] of Object.entries(want)) {
    const wrong = mismatch(value, (got as Record<string, unknown>)[key], `${path}.${key}`);
    if (wrong) return wrong;
  }
  return null;
}

function differs(path: string, want: unknown, got: unknown): string {
  return `${path}: expected ${JSON.stringify(want)}, got ${JSON.stringify(got)}`;
}
