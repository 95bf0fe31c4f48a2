// Starting the broker from a hook, where none listens (semantics §1).
import { statSync, writeFileSync } from "node:fs";
import { spawnBroker } from "../../client/start.ts";
import type { HomePaths } from "../../home.ts";
import { type Limit, runningMs } from "./calls.ts";

const pollMs = 15;
/** Hooks that do not wait start it at most so often. */
const againMs = 10_000;

/** Starts the broker unless it was started just now. With a limit it tells until an answer comes or the limit is reached, else it gives up at once. */
export async function startBroker(paths: HomePaths, limit: Limit | undefined, tell: () => string): Promise<string> {
  if (Object.keys(process.env).some((name) => name.startsWith("CODEX_SANDBOX"))) throw new Error("a sandbox keeps this hook from the bus");
  const stamp = `${paths.home}/hook.stamp`;
  const startedAt = statSync(stamp, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const recent = !limit && Math.abs(Date.now() - startedAt) < againMs;
  if (!recent) {
    spawnBroker(paths);
    try {
      writeFileSync(stamp, "", { mode: 0o600 });
    } catch {
      // The stamp is only a brake: without it the broker is started once more, and the second one ends by itself.
    }
  }
  if (!limit) throw new Error(recent ? "no broker; it was started just now" : "no broker; started one");
  while (runningMs() < limit.ms - pollMs) {
    await Bun.sleep(pollMs);
    try {
      return tell();
    } catch {
      // Not there yet.
    }
  }
  throw new Error(`no answer within ${limit.ms} ms`);
}
