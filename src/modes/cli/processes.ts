// Which CLI's process is nearest above a command. Only asked where the environment names a session and the process tree another.
import { readFileSync } from "node:fs";
import type { ClientName } from "../../protocol/constants.ts";
import { realSystem } from "../../system.ts";

const programs: [RegExp, ClientName][] = [
  [/^codex/, "codex"],
  [/^\.?opencode/, "opencode"],
  [/^claude/, "claude"],
  [/^gemini/, "gemini"],
  [/^zcode/i, "zcode"],
  [/^(pi|hummin)$/, "hummin"],
];

function programName(pid: number): string {
  if (process.platform === "darwin")
    return Bun.spawnSync(["ps", "-o", "comm=", "-p", String(pid)])
      .stdout.toString()
      .trim()
      .replace(/^.*\//, "");
  try {
    return readFileSync(`/proc/${pid}/comm`, "utf8").trim();
  } catch {
    return "";
  }
}

/** The CLI of the nearest ancestor, from `pid` on, whose program name is one that we know; null where there is none. */
export function nearestCli(pid: number): ClientName | null {
  let at: number | null = pid;
  for (let depth = 0; at !== null && at > 1 && depth < 64; depth++) {
    const name = programName(at);
    for (const [pattern, client] of programs) if (pattern.test(name)) return client;
    at = realSystem.parent(at);
  }
  return null;
}
