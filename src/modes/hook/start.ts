// Starting the broker from a hook, where none listens (semantics §1).

import { spawnBroker } from "../../client/start.ts";
import type { Payload } from "../../clis/payload.ts";
import type { HomePaths } from "../../home.ts";

const pollMs = 15;
/** Hooks that do not wait start it at most so often. */
const againMs = 10_000;

/** Starts the broker unless it was started just now. With `wait` it asks until an answer comes (the hook's own deadline ends it), else it gives up at once. */
export async function startBroker(paths: HomePaths, wait: boolean, ask: () => Promise<Payload | null>): Promise<Payload | null> {
  if (Object.keys(process.env).some((name) => name.startsWith("CODEX_SANDBOX"))) throw new Error("a sandbox keeps this hook from the bus");
  const stamp = Bun.file(`${paths.home}/hook.stamp`);
  const recent = !wait && (await stamp.exists()) && Math.abs(Date.now() - stamp.lastModified) < againMs;
  if (!recent) {
    spawnBroker(paths);
    // The stamp is only a brake: where it cannot be written the broker is started once more, and the second one ends by itself.
    await Bun.write(stamp, "", { mode: 0o600, createPath: false } as Parameters<typeof Bun.write>[2]).catch(() => {});
  }
  if (!wait) throw new Error(recent ? "no broker; it was started just now" : "no broker; started one");
  for (;;) {
    await Bun.sleep(pollMs);
    try {
      return await ask();
    } catch {
      // Not there yet.
    }
  }
}
