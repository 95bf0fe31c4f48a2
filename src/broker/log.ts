// broker.log: JSON lines, no body and no token in them, rotated at 5 MiB, three old ones kept (semantics §1).
import { lstatSync, renameSync } from "node:fs";
import { appendPrivate } from "../append.ts";

const levels = ["error", "warn", "info", "debug"] as const;
export type LogLevel = (typeof levels)[number];
export type Log = (level: LogLevel, event: string, data?: Record<string, unknown>) => void;

const logBytesMax = 5 * 1_048_576;
const logsKept = 3;

/** A log at `path`, mode 0600. `level` is RENN_LOG's word; anything else means info. A full disk, or a path that is no regular file, loses lines, never the broker. */
export function openLog(path: string, level: string | undefined, now: () => number): Log {
  const most = levels.indexOf((level ?? "info") as LogLevel);
  const wanted = most < 0 ? levels.indexOf("info") : most;
  return (at, event, data) => {
    if (levels.indexOf(at) > wanted) return;
    try {
      rotate(path);
      appendPrivate(path, `${JSON.stringify({ at: new Date(now()).toISOString(), level: at, event, pid: process.pid, ...data })}\n`);
    } catch {
      // There is nowhere left to say it.
    }
  };
}

function rotate(path: string): void {
  let size: number;
  try {
    size = lstatSync(path).size;
  } catch {
    return;
  }
  if (size < logBytesMax) return;
  for (let n = logsKept - 1; n >= 1; n--)
    try {
      renameSync(`${path}.${n}`, `${path}.${n + 1}`);
    } catch {
      // That one does not exist yet.
    }
  renameSync(path, `${path}.1`);
}
