// hook.log: one line for each run that failed. Loaded only then, since it needs `node:fs`.
import { lstatSync, renameSync } from "node:fs";
import { appendPrivate } from "../../append.ts";
import type { HomePaths } from "../../home.ts";
import { visible } from "../../protocol/text.ts";

const bytesMax = 262_144;
const lineCharactersMax = 500;

/** Appends a line; past its cap the log begins anew and the old one is kept as hook.log.1. Throws where the home cannot be written. */
export function logFailure(paths: HomePaths, client: string | undefined, event: string, reason: string): void {
  const size = lstatSync(paths.hookLog, { throwIfNoEntry: false })?.size ?? 0;
  if (size > bytesMax) renameSync(paths.hookLog, `${paths.hookLog}.1`);
  const text = visible(`${client ?? "unknown"} ${event || "-"}: ${reason}`).replace(/\s+/g, " ");
  appendPrivate(paths.hookLog, `${new Date().toISOString()} ${text.slice(0, lineCharactersMax)}\n`);
}
