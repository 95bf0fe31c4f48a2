// The programs that are measured: built, started in a home of their own, stopped.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Socket, Subprocess } from "bun";
import { compile } from "../../build.ts";
import { quietRuntime } from "../../src/client/start.ts";

const root = join(import.meta.dir, "../..");
const startMsMax = 20_000;

/** A folder of this run alone; `dispose` removes it. On the disk where homes are, since a commit's cost is the disk's. */
export class Scratch {
  readonly folder: string = mkdtempSync(join(process.env.RENN_BENCH_DIR ?? tmpdir(), "renn-bench-"));
  private readonly running: Subprocess[] = [];
  private count = 0;

  /** A path in the folder that nothing has yet. */
  path(name: string): string {
    return join(this.folder, `${name}-${++this.count}`);
  }

  /** A new folder in it, mode 0700. */
  home(name: string): string {
    const home = this.path(name);
    mkdirSync(home, { mode: 0o700 });
    return home;
  }

  /** Starts a program and waits until something answers at `socket`. */
  async start(command: string[], socket: string, env: Record<string, string> = {}): Promise<Server> {
    const started = performance.now();
    const child = Bun.spawn(command, { env: { ...process.env, ...env }, stdin: "ignore", stdout: "ignore", stderr: "pipe", cwd: "/" });
    this.running.push(child);
    while (!(await answers(socket))) {
      if (child.exitCode !== null) throw new Error(`${command.join(" ")} ended: ${await new Response(child.stderr).text()}`);
      if (performance.now() - started > startMsMax) throw new Error(`${command.join(" ")} does not answer at ${socket}`);
      await Bun.sleep(1);
    }
    return { pid: child.pid, socket, startMs: performance.now() - started, stop: () => stop(child) };
  }

  async dispose(): Promise<void> {
    for (const child of this.running) await stop(child);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export type Server = { pid: number; socket: string; startMs: number; stop(): Promise<void> };

async function stop(child: Subprocess): Promise<void> {
  child.kill("SIGTERM");
  await child.exited;
}

async function answers(socket: string): Promise<boolean> {
  if (!existsSync(socket)) return false;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const open = (connection: Socket): void => {
    resolve(true);
    connection.end();
  };
  Bun.connect({ unix: socket, socket: { open, data: () => {}, connectError: () => resolve(false) } }).catch(() => resolve(false));
  return promise;
}

/** Limits that no bench meets, so that what is measured is the work and not the refusal. */
const limits = { sendsPerWindow: 1e9, threadMessagesMax: 1e9, unreadMax: 1e9, duplicateWindowMs: 1 };

export type Broker = Server & { home: string; token: string };

/** A home with its limits lifted; `startBroker` takes it. */
export function benchHome(scratch: Scratch): string {
  const home = scratch.home("home");
  writeFileSync(join(home, "config.json"), JSON.stringify({ limits }), { mode: 0o600 });
  return home;
}

/** Starts the built broker on `home`. */
export async function startBroker(scratch: Scratch, home: string = benchHome(scratch)): Promise<Broker> {
  const env = { RENN_HOME: home, ...quietRuntime };
  const server = await scratch.start([join(root, "dist/renn"), "broker", "run"], join(home, "bus.sock"), env);
  return { ...server, home, token: readFileSync(join(home, "token"), "utf8").trim() };
}

/** Builds renn, the empty program and the floor program. */
export async function buildAll(scratch: Scratch): Promise<{ renn: string; empty: string; floor: string }> {
  const source = scratch.path("empty.ts");
  writeFileSync(source, "");
  const empty = scratch.path("empty");
  const floor = scratch.path("floor");
  const renn = join(root, "dist/renn");
  mkdirSync(join(root, "dist"), { recursive: true });
  await compile(source, empty);
  await compile(join(import.meta.dir, "floor.ts"), floor);
  await compile(join(root, "src/main.ts"), renn);
  return { renn, empty, floor };
}

/** Resident memory in MiB; `anonymous` leaves out the pages of the program file, which all instances share. */
export function memory(pid: number): { resident: number; anonymous: number } {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const mib = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) / 1024;
  return { resident: mib("VmRSS"), anonymous: mib("RssAnon") };
}
