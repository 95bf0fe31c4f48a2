// Starting the broker from a command (semantics §1): detached, in a session of its own, with no descriptor of ours.
import type { HomePaths } from "../home.ts";

/** What the broker needs of the environment. The rest, keys and tokens of the calling shell among it, must not live on in a long-lived process. */
const kept = /^(HOME|PATH|USER|LOGNAME|LANG|LC_.*|TZ|TMPDIR|XDG_RUNTIME_DIR|LD_LIBRARY_PATH|RENN_HOME|RENN_LOG)$/;

/** The command line that runs this same renn with other arguments: the compiled program, or bun with the script. */
export function selfCommand(args: string[]): string[] {
  const script = Bun.main;
  return script.startsWith("/$bunfs/") ? [process.execPath, ...args] : [process.execPath, script, ...args];
}

/** Starts `renn broker run` and returns at once. `exited` tells when it ended before it served. */
export function spawnBroker(paths: HomePaths): { exitCode: () => number | null } {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env)) if (value !== undefined && kept.test(name)) env[name] = value;
  env.RENN_HOME = paths.home;
  const child = Bun.spawn(selfCommand(["broker", "run"]), { cwd: "/", env, stdio: ["ignore", "ignore", "ignore"], detached: true });
  child.unref();
  return { exitCode: () => child.exitCode };
}
