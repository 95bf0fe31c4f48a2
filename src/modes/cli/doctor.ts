// doctor: what is in place and what is not, and how to mend it.
import { Database } from "bun:sqlite";
import { existsSync, lstatSync, statSync } from "node:fs";
import type { Command } from "commander";
import { Client } from "../../client.ts";
import { type HomePaths, homePaths } from "../../home.ts";
import { harmlessLine } from "../../protocol/text.ts";
import { version } from "../../version.ts";
import { Exit, print, printJson } from "./output.ts";
import { type Common, optionsOf } from "./run.ts";
import { cyan, green, indented, red, yellow } from "./style.ts";

/** One thing that was looked at: whether it is right, and what mends it. `joined: false` is a CLI that renn was never put in, which is no fault. */
export type Check = { name: string; ok: boolean; joined?: boolean; detail: string; fix?: string };

/** Adds `doctor`. */
export function registerDoctor(program: Command): void {
  program
    .command("doctor")
    .summary("check everything, and say how to mend what is wrong")
    .description(
      "Checks binary, home, modes, broker, database and each CLI. Ends with status 1 when something is wrong, which a CLI that was never joined is not. Changes nothing.",
    )
    .action(async (_options, command: Command) => doctor(optionsOf(command)));
}

async function doctor(options: Common): Promise<void> {
  const paths = homePaths();
  const checks = [binary(), home(paths), ...modes(paths), await config(paths), await broker(paths), database(paths), ...(await clis())];
  const ok = checks.every((check) => check.ok);
  if (options.json) await printJson({ ok, checks });
  else for (const check of checks) await print(checkText(check));
  if (!ok) throw new Exit(1);
}

function checkText(check: Check): string {
  const detail = indented(`${check.name}: ${harmlessLine(check.detail)}`, 6).trimStart();
  const apart = check.joined === false;
  const head = `${apart ? yellow("not joined") : check.ok ? green("ok   ") : red("wrong")} ${detail}`;
  if (!check.fix || (check.ok && !apart)) return head;
  return `${head}\n${indented(`${cyan(apart ? "join:" : "mend:")} ${harmlessLine(check.fix)}`, 6)}`;
}

function binary(): Check {
  return { name: "binary", ok: true, detail: `${process.execPath}, version ${version}` };
}

const quoted = (path: string) => `'${path.replaceAll("'", "'\\''")}'`;
const counted = (n: number, word: string) => `${n} ${word}${n === 1 ? "" : "s"}`;
const modeWords = (mode: number) => (mode & 0o777).toString(8).padStart(4, "0");

function home(paths: HomePaths): Check {
  if (!existsSync(paths.home)) return { name: "home", ok: false, detail: `${paths.home} is missing`, fix: "renn broker start (makes it)" };
  const stats = statSync(paths.home);
  if (stats.uid !== process.getuid?.())
    return { name: "home", ok: false, detail: `${paths.home} belongs to uid ${stats.uid}`, fix: "set RENN_HOME to a folder of your own" };
  if (stats.mode & 0o077)
    return { name: "home", ok: false, detail: `${paths.home} has mode ${modeWords(stats.mode)}`, fix: `chmod 700 ${quoted(paths.home)}` };
  return { name: "home", ok: true, detail: `${paths.home}, mode ${modeWords(stats.mode)}` };
}

/** The files that must be the user's alone, where they are there: one line where all are, else one for each that is not. */
function modes(paths: HomePaths): Check[] {
  const files = [
    paths.token,
    paths.database,
    `${paths.database}-wal`,
    paths.lock,
    paths.log,
    paths.hookLog,
    `${paths.home}/broker.pid`,
    `${paths.home}/broker.err`,
  ].filter((path) => existsSync(path));
  const wrong = files.flatMap((path): Check[] => {
    const stats = lstatSync(path);
    const name = `mode of ${path.slice(paths.home.length + 1)}`;
    if (stats.isSymbolicLink()) return [{ name, ok: false, detail: "it is a symbolic link", fix: `remove it: rm ${quoted(path)}` }];
    if (stats.mode & 0o077) return [{ name, ok: false, detail: modeWords(stats.mode), fix: `chmod 600 ${quoted(path)}` }];
    return [];
  });
  return wrong.length || !files.length ? wrong : [{ name: "files", ok: true, detail: `${counted(files.length, "file")}, yours alone` }];
}

/** It holds no secret, so its mode does not matter in a home that is closed to others. */
async function config(paths: HomePaths): Promise<Check> {
  const name = "config";
  if (!existsSync(paths.config)) return { name, ok: true, detail: "no config.json: defaults" };
  try {
    (await import("../serve/config.ts")).readConfig(paths.config);
    return { name, ok: true, detail: paths.config };
  } catch (error) {
    return { name, ok: false, detail: messageOf(error), fix: "edit it, then: renn broker restart" };
  }
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

async function broker(paths: HomePaths): Promise<Check> {
  try {
    const client = await Client.connect({ paths });
    try {
      const stats = await client.call("stats", {});
      const detail = `running, version ${stats.version}, pid ${stats.pid}, connections: ${stats.connections}`;
      return stats.version === version
        ? { name: "broker", ok: true, detail }
        : { name: "broker", ok: false, detail: `${detail}; this is ${version}`, fix: "renn broker restart" };
    } finally {
      client.close();
    }
  } catch (error) {
    return { name: "broker", ok: false, detail: messageOf(error), fix: "renn broker start; renn broker logs says more" };
  }
}

function database(paths: HomePaths): Check {
  if (!existsSync(paths.database)) return { name: "database", ok: true, detail: "not made yet" };
  try {
    const found = inspectDatabase(paths.database);
    return found.quickCheck === "ok"
      ? { name: "database", ok: true, detail: `${found.messages} messages, quick_check ok` }
      : { name: "database", ok: false, detail: found.quickCheck, fix: "renn restore FILE with a backup" };
  } catch (error) {
    return { name: "database", ok: false, detail: messageOf(error), fix: "renn restore FILE with a backup" };
  }
}

/** What SQLite says of a database file of ours, opened read-only. Throws when it is none. */
export function inspectDatabase(path: string): { quickCheck: string; messages: number } {
  const db = new Database(path, { readonly: true });
  try {
    db.run("PRAGMA busy_timeout = 2000");
    const rows = db.query<{ quick_check: string }, []>("PRAGMA quick_check(1)").all();
    const counted = db.query<{ n: number }, []>("SELECT count(*) AS n FROM messages").get();
    return { quickCheck: rows.map((row) => row.quick_check).join("; "), messages: counted?.n ?? 0 };
  } finally {
    db.close();
  }
}

async function clis(): Promise<Check[]> {
  const { doctorClis } = await import("./init.ts");
  return doctorClis();
}
