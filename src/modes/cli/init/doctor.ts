// What doctor says of one CLI: its version, whether renn is in place, when its last session was heard, and how it can be reached.

import { Client } from "../../../client.ts";
import type { Edit } from "../../../clis/edits.ts";
import type { HomePaths } from "../../../home.ts";
import { dayMs } from "../../../protocol/constants.ts";
import { ageWords, visible } from "../../../protocol/text.ts";
import type { Check } from "../doctor.ts";
import { isThere } from "./edit.ts";
import { readText } from "./files.ts";
import { homeVariable, placeOf, type SetupCli } from "./place.ts";
import { contextOf, editsByFile } from "./plan.ts";
import { readInstalled } from "./store.ts";

const versionMsMax = 5_000;

/** Looks at one CLI. Never throws: what cannot be read is said. */
export async function inspectCli(cli: SetupCli, paths: HomePaths): Promise<Check> {
  const files = filesOf(cli, paths);
  const missing = missingFiles(files, paths);
  const fix = `renn init --client ${cli.client}`;
  const never = missing.length === files.size && !readInstalled(paths).some((record) => files.has(record.file));
  const version = await programVersion(cli.setup.binary);
  if (never) return { name: cli.client, ok: true, joined: false, detail: version, fix };
  const state = missing.length ? `only partly joined, something of renn lacks in: ${missing.join(", ")}` : "joined";
  const parts = [state, version, await lastHeard(cli, paths), ...failedHooks(cli, paths), `messages come ${cli.facts.best}`];
  return { name: cli.client, ok: missing.length === 0, joined: true, detail: parts.join("; "), ...(missing.length > 0 && { fix }) };
}

function filesOf(cli: SetupCli, paths: HomePaths): Map<string, Edit[]> {
  return editsByFile(cli.setup.edits(placeOf(cli, {}, paths.bin, homeVariable(paths))));
}

/** Files that lack something of ours (Codex's trust entries among it). */
function missingFiles(files: ReadonlyMap<string, Edit[]>, paths: HomePaths): string[] {
  const context = contextOf({ files: [], refusals: [] }, homeVariable(paths).RENN_HOME ?? "", paths.bin);
  return [...files].flatMap(([file, edits]) => {
    try {
      const text = (readText(file) ?? "").replace(/^\ufeff/, "");
      return text !== "" && edits.every((edit) => isThere(text, edit, context)) ? [] : [file];
    } catch (error) {
      return [`${file} (${error instanceof Error ? error.message : error})`];
    }
  });
}

/** What hook.log has of the last day. */
function failedHooks(cli: SetupCli, paths: HomePaths): string[] {
  const lines = (readText(paths.hookLog) ?? "").split("\n");
  const since = new Date(Date.now() - dayMs).toISOString();
  const failed = lines.filter((line) => line > since && line.split(" ")[1] === cli.client);
  const last = failed.at(-1)?.split(" ").slice(2).join(" ");
  return last === undefined ? [] : [`hooks that failed within a day: ${failed.length}, the last: ${visible(last)}`];
}

async function programVersion(binary: string): Promise<string> {
  const path = Bun.which(binary);
  if (path === null) return `no program ${binary} on PATH`;
  try {
    const child = Bun.spawn([path, "--version"], { stdio: ["ignore", "pipe", "ignore"], timeout: versionMsMax, cwd: "/" });
    const first = (await new Response(child.stdout).text()).trim().split("\n")[0] ?? "";
    return first ? visible(first).slice(0, 60) : "version unknown";
  } catch {
    return "version unknown";
  }
}

async function lastHeard(cli: SetupCli, paths: HomePaths): Promise<string> {
  try {
    const client = await Client.connect({ paths });
    try {
      const { now, peers } = await client.call("status", {});
      const times = peers.filter((peer) => peer.client === cli.client).map((peer) => peer.lastSeenAt);
      return times.length ? `last heard ${ageWords(now - Math.max(...times))} ago` : "no session was heard yet";
    } finally {
      client.close();
    }
  } catch {
    return "the broker does not answer";
  }
}
