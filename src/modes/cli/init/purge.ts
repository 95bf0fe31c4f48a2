// Removing a home for good: the broker is stopped first.
import { existsSync, rmSync } from "node:fs";
import type { HomePaths } from "../../../home.ts";
import { realSystem } from "../../../system.ts";
import { readText } from "./files.ts";

const stopMsMax = 5_000;

/** Whether the folder is a home of renn: nothing else is ever removed. */
export function isHome(paths: HomePaths): boolean {
  return existsSync(paths.token) || existsSync(paths.lock) || existsSync(paths.bin);
}

/** Stops the broker and removes the home with all messages. Throws when the broker does not stop. */
export async function purge(paths: HomePaths): Promise<void> {
  const holder = JSON.parse(readText(`${paths.home}/broker.pid`) ?? "null") as { pid: number; start: string } | null;
  if (holder && realSystem.processStart(holder.pid) === String(holder.start)) await stop(holder.pid);
  rmSync(paths.home, { recursive: true, force: true });
}

async function stop(pid: number): Promise<void> {
  process.kill(pid, "SIGTERM");
  for (const deadline = performance.now() + stopMsMax; realSystem.processStart(pid) !== null; await Bun.sleep(20))
    if (performance.now() > deadline) throw new Error(`the broker ${pid} does not stop; nothing was removed`);
}
