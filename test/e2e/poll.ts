// Waiting for what real programs do: a condition that is looked at until it holds, with an end.

const everyMs = 40;

/** The first value of `look` that is not null, undefined or false. Throws after `ms` with what was waited for. */
export async function until<T>(
  what: string | (() => string),
  look: () => T | Promise<T>,
  ms = 120_000,
): Promise<Exclude<T, null | undefined | false | "" | 0>> {
  const end = performance.now() + ms;
  for (;;) {
    const found = await look();
    if (found) return found as Exclude<T, null | undefined | false | "" | 0>;
    if (performance.now() > end) throw new Error(`not within ${ms / 1000} s: ${typeof what === "string" ? what : what()}`);
    await Bun.sleep(everyMs);
  }
}

/** Throws with `what` where it does not hold. */
export function must(holds: unknown, what: string): asserts holds {
  if (!holds) throw new Error(what);
}
