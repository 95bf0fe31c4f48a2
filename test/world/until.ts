// Waiting for what another process does: looked at again and again, with a deadline.

const deadlineMs = 10_000;

/** Resolves when `met` holds; throws after ten seconds, naming `what` did not come. */
export async function until(met: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (const deadline = performance.now() + deadlineMs; !(await met()); await Bun.sleep(5))
    if (performance.now() > deadline) throw new Error(`${what} did not come`);
}
