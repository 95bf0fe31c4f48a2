// A real broker process in a home of its own, for tests that kill it or take something away from it.
import { Database } from "bun:sqlite";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import type { Subprocess } from "bun";
import { Client, type ClientOptions } from "../../src/client.ts";
import { type HomePaths, homePaths } from "../../src/home.ts";
import { ProtocolError } from "../../src/protocol/errors.ts";
import type { Result } from "../../src/protocol/schemas.ts";
import { rennCommand } from "../binary.ts";

const startMsMax = 10_000;

/** Limits out of the way: the load is the point, not the sender's patience. */
const wideLimits = { sendsPerWindow: 1_000_000, unreadMax: 1_000_000, threadMessagesMax: 1_000_000 };

/** A home (0700) whose path has a space and letters of other scripts; `remove` deletes it. */
export function makeHome(parent = tmpdir(), config: object = { limits: wideLimits }): HomePaths & { remove: () => void } {
  const home = mkdtempSync(`${parent}/renn ñ 家-`);
  chmodSync(home, 0o700);
  writeFileSync(`${home}/config.json`, JSON.stringify(config), { mode: 0o600 });
  return { ...homePaths({ RENN_HOME: home }), remove: () => rmSync(home, { recursive: true, force: true }) };
}

/** The environment in which a broker of `paths` runs. */
export function brokerEnv(paths: HomePaths): Record<string, string> {
  return {
    PATH: process.env.PATH ?? "",
    HOME: paths.home,
    BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0",
    RENN_HOME: paths.home,
    TMPDIR: tmpdir(),
  };
}

/** Starts `renn broker run`, with `wrapper` before it (`prlimit …`, `setpriv …`). */
export function spawnBroker(paths: HomePaths, wrapper: string[] = []): Subprocess<"ignore", "pipe", "pipe"> {
  return Bun.spawn([...wrapper, ...rennCommand(), "broker", "run"], {
    cwd: "/",
    env: brokerEnv(paths),
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
}

/** Tries `step` until it gives something; throws its last error when the time is over. */
export async function until<T>(
  what: string,
  step: () => T | null | undefined | false | Promise<T | null | undefined | false>,
  ms = startMsMax,
): Promise<T> {
  let last: unknown = null;
  for (const deadline = performance.now() + ms; performance.now() < deadline; await Bun.sleep(10))
    try {
      const found = await step();
      if (found) return found;
    } catch (error) {
      last = error;
    }
  throw new Error(`not within ${ms} ms: ${what}${last ? ` (${String(last)})` : ""}`);
}

/** Connects to the home's broker as soon as it serves, and registers as `handle`. */
export async function join(
  paths: HomePaths,
  handle: string,
  options: Omit<ClientOptions, "paths"> & { listen?: boolean } = {},
): Promise<Client> {
  const client = await until("the broker serves", () => Client.connect({ ...options, paths }));
  await client.call("register", { handle, clientKind: options.listen ? "adapter" : "cli", ...(options.listen ? { listen: true } : {}) });
  return client;
}

/** All messages after `sinceId`, page by page. */
export async function exportAll(client: Client, sinceId = 0): Promise<Result<"export">["messages"]> {
  const all: Result<"export">["messages"] = [];
  for (let from = sinceId; ; ) {
    const page = await client.call("export", { sinceId: from }, { timeoutMs: 60_000 });
    all.push(...page.messages);
    const last = page.messages.at(-1);
    if (!page.more || !last) return all;
    from = last.id;
  }
}

/** What SQLite says of a database that nobody has open; "ok" when it is whole. */
export function integrity(path: string): string {
  const db = new Database(path, { readwrite: true });
  try {
    return (db.query("PRAGMA integrity_check").get() as { integrity_check: string }).integrity_check;
  } finally {
    db.close();
  }
}

/** A number option of the command line: `--name 5`. */
export function numberOption(name: string, otherwise: number): number {
  const at = process.argv.indexOf(`--${name}`);
  const value = at < 0 ? otherwise : Number(process.argv[at + 1]);
  if (!Number.isFinite(value)) throw new Error(`--${name} needs a number`);
  return value;
}

/** Throws `what` unless it holds. */
export function must(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(what);
}

/** The refusal that a request meets; throws when it meets none. */
export async function refusalOf(asking: Promise<unknown>): Promise<ProtocolError> {
  try {
    await asking;
  } catch (error) {
    if (error instanceof ProtocolError) return error;
    throw error;
  }
  throw new Error("it was not refused");
}

/** Runs `step` with a home and removes everything afterwards. */
export async function inHome(step: (paths: HomePaths) => Promise<void>, parent?: string): Promise<void> {
  const home = makeHome(parent);
  try {
    await step(home);
  } finally {
    home.remove();
  }
}

/** Runs `step` beside a broker, which is killed afterwards. */
export async function withBroker(
  paths: HomePaths,
  step: (child: ReturnType<typeof spawnBroker>) => Promise<void>,
  wrapper?: string[],
): Promise<void> {
  const child = spawnBroker(paths, wrapper);
  try {
    await step(child);
  } finally {
    child.kill("SIGKILL");
    await child.exited;
  }
}

let nextBody = 0;
/** Sends a message of its own to `reader`. */
export const sendOne = (client: Client, bytes = 100) =>
  client.call("send", { threadId: null, to: ["reader"], body: `${++nextBody} ${"x".repeat(bytes)}` });
