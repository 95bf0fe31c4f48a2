// Starting the broker from a command (semantics §1): detached, in a session of its own, with no descriptor of ours.
import { closeSync, constants, mkdirSync, openSync, readFileSync, statfsSync } from "node:fs";
import type { HomePaths } from "../home.ts";

/** What the broker needs of the environment. The rest, keys and tokens of the calling shell among it, must not live on in a long-lived process. */
const kept = /^(HOME|PATH|USER|LOGNAME|LANG|LC_.*|TZ|TMPDIR|XDG_RUNTIME_DIR|LD_LIBRARY_PATH|RENN_HOME|RENN_LOG)$/;

/**
 * Lets an idle broker sleep: Bun looks at its heap once a second otherwise, and its allocator keeps a thread that wakes to give memory back, which
 * is done at once instead (no difference was found in what a send costs).
 */
export const quietRuntime = { BUN_GC_TIMER_DISABLE: "1", MIMALLOC_PURGE_DELAY: "0" };

/** The command line that runs this same renn with other arguments: the compiled program, or bun with its entry, whoever imported this. */
export function selfCommand(args: string[]): string[] {
  const compiled = Bun.main.startsWith("/$bunfs/");
  return compiled ? [process.execPath, ...args] : [process.execPath, Bun.fileURLToPath(new URL("../main.ts", import.meta.url)), ...args];
}

/** A broker that was started: its exit status once it has ended, and what it said why it cannot serve. */
export type Started = { exitCode: () => number | null; complaint: () => string };

/** Starts `renn broker run` and returns at once. What it says goes to `broker.err` in the home, since nobody else listens. */
export function spawnBroker(paths: HomePaths): Started {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env)) if (value !== undefined && kept.test(name)) env[name] = value;
  env.RENN_HOME = paths.home;
  Object.assign(env, quietRuntime);
  mkdirSync(paths.home, { recursive: true, mode: 0o700 });
  const errors = `${paths.home}/broker.err`;
  const fd = openSync(
    errors,
    constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW | constants.O_NONBLOCK,
    0o600,
  );
  const child = Bun.spawn(selfCommand(["broker", "run"]), { cwd: "/", env, stdio: ["ignore", "ignore", fd], detached: true });
  closeSync(fd);
  child.unref();
  return { exitCode: () => child.exitCode, complaint: () => readFileSync(errors, "utf8").split("\n")[0] || fullDisk(paths.home) };
}

/** On a full disk the broker's complaint found no room either. */
function fullDisk(home: string): string {
  return statfsSync(home).bavail === 0 ? `the broker cannot start: the disk of ${home} is full; make room there` : "";
}
