// Removing a home for good: the broker is stopped first.
import { existsSync, rmSync } from "node:fs";
import { holder } from "../../../holder.ts";
import type { HomePaths } from "../../../home.ts";
import { realSystem } from "../../../system.ts";

const stopMsMax = 5_000;

/** Whether the folder is a home of renn: nothing else is ever removed. */
export function isHome(paths: HomePaths): boolean {
  return existsSync(paths.token) || existsSync(paths.lock) || existsSync(paths.bin);
}

/** Stops the broker and removes the home with all messages. Throws when the broker does not stop. */
export async function purge(paths: HomePaths): Promise<void> {
  const running = holder(paths);
  if (running) await stop(running.pid);
  rmSync(paths.home, { recursive: true, force: true });
}

async function stop(pid: number): Promise<void> {
  process.kill(pid, "SIGTERM");
  for (const deadline = performance.now() + stopMsMax; realSystem.processStart(pid) !== null; await Bun.sleep(20))
    if (performance.now() > deadline) throw new Error(`the broker ${pid} does not stop; nothing was removed`);
}
