// The running broker as its home's file names it: for signals and messages only, never to decide who serves (semantics §1).
import { readFileSync, statSync } from "node:fs";
import type { HomePaths } from "./home.ts";
import { realSystem } from "./system.ts";

/** A broker's process. */
export type Holder = { pid: number; start: string; version: string };

/** The file that names the holder of the home's lock. */
export const holderPath = (paths: HomePaths): string => `${paths.home}/broker.pid`;

/** Which folder the home is. The lock's file would not do: who starts because it was removed must still find the broker that held it. */
function folderOf(paths: HomePaths): string {
  const { dev, ino } = statSync(paths.home, { bigint: true });
  return `${dev}:${ino}`;
}

/** What the file says while this process holds the home. */
export function holderText(paths: HomePaths, version: string): string {
  const start = realSystem.processStart(process.pid) ?? "";
  return `${JSON.stringify({ pid: process.pid, start, version, folder: folderOf(paths) })}\n`;
}

/** Who holds the home, or null when nobody says so, the process has ended, or the file came here with a copy of another home. */
export function holder(paths: HomePaths): Holder | null {
  try {
    const { pid, start, version, folder } = JSON.parse(readFileSync(holderPath(paths), "utf8")) as Partial<Holder> & { folder?: unknown };
    if (typeof pid !== "number" || !Number.isSafeInteger(pid) || pid < 2 || typeof start !== "string") return null;
    if (folder !== folderOf(paths)) return null;
    // Another start time means that the pid was given to somebody else since.
    return realSystem.processStart(pid) === start ? { pid, start, version: String(version ?? "") } : null;
  } catch {
    return null;
  }
}
