// How a turn is taken back: what it changed in memory, in order. Most entries are values with a mark behind them that says what they are; a closure for
// each would be a tenth of a send.

/** Behind an object, a key and the old value: the property had it. */
export const wasSet: unique symbol = Symbol("set");
/** Behind a map, a key and the old value: the map had it. */
export const wasPut: unique symbol = Symbol("put");
/** Behind a map or set and a key: it did not have it. */
export const wasNew: unique symbol = Symbol("new");
/** Behind an array from whose end nothing is taken otherwise: it had one element less. */
export const wasPushed: unique symbol = Symbol("pushed");

/** Values with a mark behind them, and closures. */
export type Steps = unknown[];

/** Takes all of it back, the last change first. */
export function takeBackSteps(steps: Steps): void {
  while (steps.length) takeBackLast(steps);
}

function takeBackLast(steps: Steps): void {
  const last = steps.pop();
  if (last === wasPushed) return void (steps.pop() as unknown[]).pop();
  if (last === wasNew) {
    const key = steps.pop();
    return void (steps.pop() as Map<unknown, unknown> | Set<unknown>).delete(key);
  }
  if (last !== wasSet && last !== wasPut) return (last as () => void)();
  const old = steps.pop();
  const key = steps.pop();
  const target = steps.pop();
  if (last === wasPut) (target as Map<unknown, unknown>).set(key, old);
  else (target as Record<PropertyKey, unknown>)[key as PropertyKey] = old;
}
