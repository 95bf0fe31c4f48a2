// Waiting for what other connections do.

/** Waits until a condition holds; throws after 5 s. */
export async function until(holds: () => boolean): Promise<void> {
  for (const deadline = performance.now() + 5_000; !holds(); await Bun.sleep(2))
    if (performance.now() > deadline) throw new Error(`never: ${holds}`);
}
