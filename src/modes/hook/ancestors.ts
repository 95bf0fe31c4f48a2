// The processes above a hook, nearest first. /proc through Bun's own files: half a millisecond for all of them.
import type { Ancestor } from "../../clis/cli.ts";

const levelsMax = 12;

/** `pid` and what is above it, up to a process with the name `last` or init; shorter where a process ended meanwhile. */
export async function ancestors(pid: number, last?: RegExp): Promise<Ancestor[]> {
  if (process.platform === "darwin") return (await import("./ancestors-mac.ts")).ancestors(pid, levelsMax);
  const chain: Ancestor[] = [];
  for (let at = pid; at > 1 && chain.length < levelsMax; ) {
    const found = await readStat(at);
    if (found === null) break;
    const { parent, ...ancestor } = found;
    chain.push({ pid: at, ...ancestor });
    if (last?.test(found.name)) break;
    at = parent;
  }
  return chain;
}

async function readStat(pid: number): Promise<(Omit<Ancestor, "pid"> & { parent: number }) | null> {
  try {
    const stat = await Bun.file(`/proc/${pid}/stat`).text();
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
export async function hostArguments(pid: number): Promise<string[]> {
  try {
    return (await Bun.file(`/proc/${pid}/cmdline`).text()).split("\0").slice(0, -1);
  } catch {
    return [];
  }
}
