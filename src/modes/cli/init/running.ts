// Which sessions are open now: they read their configuration when they started, so they join at their next start.
import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";

/** Pids and folders of our user's processes with one of the names. */
export function openSessions(names: readonly string[]): { pid: number; name: string; folder: string }[] {
  if (process.platform !== "linux") return byPs(names);
  return readdirSync("/proc").flatMap((entry) => {
    try {
      if (!/^\d+$/.test(entry) || statSync(`/proc/${entry}`).uid !== process.getuid?.()) return [];
      const name = readFileSync(`/proc/${entry}/comm`, "utf8").trim();
      return names.includes(name) ? [{ pid: Number(entry), name, folder: readlinkSync(`/proc/${entry}/cwd`) }] : [];
    } catch {
      return [];
    }
  });
}

function byPs(names: readonly string[]): { pid: number; name: string; folder: string }[] {
  const lines = Bun.spawnSync(["ps", "-x", "-o", "pid=,comm="]).stdout.toString().split("\n");
  return lines.flatMap((line) => {
    const match = /^\s*(\d+)\s+(?:.*\/)?([^/]+?)\s*$/.exec(line);
    return match?.[2] && names.includes(match[2]) ? [{ pid: Number(match[1]), name: match[2], folder: "" }] : [];
  });
}
