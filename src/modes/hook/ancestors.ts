// The processes above a hook, nearest first.
import type { Ancestor } from "../../clis/cli.ts";
import { macAncestors } from "./ancestors-mac.ts";
import { readFile } from "./calls.ts";

const levelsMax = 12;

/** `pid` and what is above it, up to a process with the name `last` or init; shorter where a process ended meanwhile. */
export function ancestors(pid: number, last?: RegExp): Ancestor[] {
  if (process.platform === "darwin") return macAncestors(pid, levelsMax);
  const chain: Ancestor[] = [];
  for (let at = pid; at > 1 && chain.length < levelsMax; ) {
    const found = readStat(at);
    if (found === null) break;
    const { parent, ...ancestor } = found;
    chain.push({ pid: at, ...ancestor });
    if (last?.test(found.name)) break;
    at = parent;
  }
  return chain;
}

function readStat(pid: number): (Omit<Ancestor, "pid"> & { parent: number }) | null {
  try {
    const stat = readFile(`/proc/${pid}/stat`);
    // The name stands in parentheses and may hold anything, parentheses too: fields count from the last one.
    const end = stat.lastIndexOf(")");
    const fields = stat.slice(end + 2).split(" ");
    const name = stat.slice(stat.indexOf("(") + 1, end);
    return { parent: Number(fields[1]), start: fields[19] ?? "", name, group: Number(fields[2]), tty: Number(fields[4]) };
  } catch {
    return null;
  }
}

/** The command line of a process; empty where that cannot be read. */
export function hostArguments(pid: number): string[] {
  try {
    return readFile(`/proc/${pid}/cmdline`).split("\0").slice(0, -1);
  } catch {
    return [];
  }
}
