// token, backup, restore: looking after a home's secrets and data.
import { Database } from "bun:sqlite";
import { existsSync, renameSync, rmSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Command } from "commander";
import { Client } from "../../client.ts";
import { type HomePaths, homePaths } from "../../home.ts";
import { realSystem } from "../../system.ts";
import { inspectDatabase } from "./doctor.ts";
import { stopBroker } from "./holder.ts";
import { Exit, print, printJson, UsageError, warn, write } from "./output.ts";
import { type Common, optionsOf } from "./run.ts";
import { isTerminal } from "./terminal.ts";

/** Adds `token`, `backup` and `restore`. */
export function registerUpkeep(program: Command): void {
  program
    .command("token")
    .summary("show or change the secret that lets programs in")
    .description(
      "Shows or changes the secret of this home, with which programs are let in. Whoever can read it can speak as you on this bus.",
    )
    .option("--show", "print it")
    .option("--rotate", "make a new one; who is connected stays connected")
    .action(async (_options, command: Command) => token(optionsOf(command)));
  program
    .command("backup")
    .summary("write a consistent copy of the database, also while the broker runs")
    .description("Writes all messages, peers and groups into one new file, as they are at one moment; `renn restore` takes it back.")
    .argument("<file>", "a new file")
    .action(async (file: string, _options, command: Command) => backup(resolve(file), optionsOf(command)));
  program
    .command("restore")
    .summary("take the database from a backup; the present one is kept beside it")
    .description(
      "Takes the database from a backup: stops the broker, puts the copy in the database's place, and starts the broker again where it ran. What was there before is kept as a file beside it. On a terminal it asks first.",
    )
    .argument("<file>", "a file that `renn backup` made")
    .option("-y, --yes", "without a question")
    .action(async (file: string, _options, command: Command) => restore(resolve(file), optionsOf(command)));
}

async function token(options: { show?: boolean; rotate?: boolean } & Common): Promise<void> {
  if (!options.show === !options.rotate) throw new UsageError("say --show or --rotate");
  const paths = homePaths();
  if (options.rotate) {
    if (!existsSync(paths.home)) throw new Error(`${paths.home} is missing; make it with: renn broker start`);
    await replaceToken(paths);
    return options.json
      ? printJson({ rotated: true })
      : print("the token is new; whoever connects from now on needs it (renn's own programs read it by themselves)");
  }
  if (!existsSync(paths.token)) throw new Error("there is no token yet; make it with: renn broker start");
  const text = (await Bun.file(paths.token).text()).trim();
  await (options.json ? printJson({ token: text }) : write(`${text}\n`));
}

/** By rename, so that nobody ever reads half a token. */
async function replaceToken(paths: HomePaths): Promise<void> {
  process.umask(0o077);
  const fresh = `${paths.token}.${process.pid}`;
  await Bun.write(fresh, `${realSystem.randomHex(32)}\n`, { mode: 0o600 });
  renameSync(fresh, paths.token);
}

/** Copies a database into a new file of mode 0600; SQLite itself sees to it that the copy is of one moment. */
function copyDatabase(from: string, to: string): void {
  process.umask(0o077);
  const db = new Database(from, { readonly: true });
  try {
    db.run("PRAGMA busy_timeout = 5000");
    db.run("VACUUM INTO ?", [to]);
  } catch (error) {
    rmSync(to, { force: true });
    throw error;
  } finally {
    db.close();
  }
}

async function backup(file: string, options: Common): Promise<void> {
  const { database } = homePaths();
  if (!existsSync(database)) throw new Error("there is no database yet; nothing to copy");
  if (existsSync(file)) throw new Error(`${file} exists already; name a new file`);
  if (!existsSync(dirname(file))) throw new Error(`the folder ${dirname(file)} does not exist`);
  const partial = `${file}.partial-${process.pid}`;
  copyDatabase(database, partial);
  const { messages } = inspectDatabase(partial);
  renameSync(partial, file);
  await (options.json ? printJson({ file, messages, bytes: Bun.file(file).size }) : print(`${messages} messages are in ${file}`));
}

async function restore(file: string, options: { yes?: boolean } & Common): Promise<void> {
  const paths = homePaths();
  if (!existsSync(file)) throw new Error(`${file} does not exist`);
  if (!existsSync(paths.home)) throw new Error(`${paths.home} is missing; make it with: renn broker start`);
  const messages = messagesIn(file);
  if (
    !options.yes &&
    isTerminal(0) &&
    isTerminal(1) &&
    !confirm(`Put the ${messages} messages of ${file} in the place of ${paths.database}?`)
  ) {
    warn("nothing was changed");
    throw new Exit(1);
  }
  const wasRunning = await stopBroker(paths);
  const kept = holdingLock(paths, () => swap(paths, file));
  if (wasRunning) (await Client.connect({ paths, start: true })).close();
  if (options.json) return printJson({ restored: file, messages, kept, running: wasRunning });
  await print(`${messages} messages are restored${kept ? `; what was there before is kept as ${kept}` : ""}`);
}

/** How many messages a backup holds. Throws what is wrong with it. */
function messagesIn(file: string): number {
  try {
    const { quickCheck, messages } = inspectDatabase(file);
    if (quickCheck === "ok") return messages;
    throw new Error(quickCheck);
  } catch (error) {
    throw new Error(`${file} is no intact backup of renn: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** No broker can start meanwhile: the lock that decides who serves is ours. */
function holdingLock<T>(paths: HomePaths, work: () => T): T {
  process.umask(0o077);
  const lock = new Database(paths.lock, { create: true });
  try {
    lock.run("PRAGMA busy_timeout = 1000");
    lock.run("BEGIN EXCLUSIVE");
  } catch {
    lock.close();
    throw new Error("a broker holds this home; stop it first with: renn broker stop");
  }
  try {
    return work();
  } finally {
    lock.run("ROLLBACK");
    lock.close();
  }
}

/** Puts a copy of `file` in the database's place. The old one is moved aside with its log, in which its latest messages may stand. */
function swap(paths: HomePaths, file: string): string | null {
  const fresh = `${paths.database}.restore-${process.pid}`;
  copyDatabase(file, fresh);
  const kept = existsSync(paths.database) ? `${paths.database}.before-restore-${realSystem.now()}` : null;
  if (kept) for (const end of ["", "-wal", "-shm"]) if (existsSync(paths.database + end)) renameSync(paths.database + end, kept + end);
  renameSync(fresh, paths.database);
  return kept;
}
