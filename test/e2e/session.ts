// One running CLI: headless to its end, or in a terminal of tmux that a scenario types into.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Model, type Turn } from "./model.ts";
import { must, until } from "./poll.ts";
import type { World } from "./world.ts";

/** How one CLI is started. */
export type Cli = {
  name: string;
  /** Its name on the bus, and where its folder is when `init` must be told. */
  client: string;
  configDir?: string;
  /** Whether a message wakes it when it is idle. */
  wakes: boolean;
  /** The commands of its terminal that begin anew and that name the session, where it has such. */
  clear?: string;
  rename?: string;
  /** What its model answers to have a subagent do something, and to wait for it; absent where it has no subagents. */
  subagent?(prompt: string): Turn[];
  /** Files under the home that init writes to. */
  joinedBy: string[];
  /** Writes the configuration that makes it work offline. */
  prepare(world: World, folders: string[]): void;
  /** Variables that lead it to a model. */
  env(model: Model): Record<string, string>;
  /** A run that ends with its answer; `resume` goes on with the folder's last conversation. */
  headless(prompt: string, resume: boolean, model: Model): string[];
  /** A terminal session. */
  tui(resume: boolean, folder: string, world: World): string[];
  /** A process that runs the agents of all terminals, where the CLI has one, and the socket that shows that it is there. */
  host?(model: Model, world: World): { argv: string[]; socket: string };
  /** Whether the screen shows that it can be typed into. */
  ready: RegExp;
  /** What the model calls renn's tools. */
  tool(name: string): string;
  /** A call of the shell. */
  shell(command: string): { tool: string; input: Record<string, unknown> };
};

/** A headless run that has been started. */
export type Run = { model: Model; pid: number; ended: Promise<{ code: number; output: string }> };

const runMs = 240_000;

/** Starts a headless run. */
export function start(
  world: World,
  cli: Cli,
  folder: string,
  prompt: string,
  more: { resume?: boolean; model?: Model; env?: Record<string, string> } = {},
): Run {
  const model = more.model ?? new Model();
  const argv = cli.headless(prompt, more.resume ?? false, model);
  const child = Bun.spawn(argv, {
    cwd: folder,
    env: { ...world.env, ...cli.env(model), PWD: folder, ...more.env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    timeout: runMs,
  });
  const ended = Promise.all([child.exited, child.stdout.text(), child.stderr.text()]).then(([code, out, err]) => ({
    code,
    output: `${out}\n${err}`,
  }));
  return { model, pid: child.pid, ended };
}

/** Runs a prompt to its end; throws where the CLI did not end well. */
export async function run(world: World, cli: Cli, folder: string, prompt: string, more: Parameters<typeof start>[4] = {}): Promise<Model> {
  const { model, ended } = start(world, cli, folder, prompt, more);
  const { code, output } = await ended;
  must(code === 0, `${cli.name} ended with ${code}: ${output.slice(-1500)}`);
  return model;
}

/** Terminals of one run of the scenarios. */
export class Terminals {
  private readonly folder = mkdtempSync(join(tmpdir(), "renn-tmux-"));
  private count = 0;
  private readonly opened: number[] = [];
  private host: { child: Bun.Subprocess; model: Model } | undefined;

  constructor() {
    // One that ends with its last session would take one along that is being made just then.
    this.tmux("start-server", ";", "set-option", "-g", "exit-empty", "off");
  }

  tmux(...args: string[]): string {
    const ran = Bun.spawnSync(["tmux", "-S", join(this.folder, "sock"), "-f", "/dev/null", ...args], {
      env: { PATH: "/usr/bin:/bin", LANG: "C.UTF-8", TERM: "xterm-256color" },
    });
    must(ran.exitCode === 0, `tmux ${args[0]}: ${ran.stderr}`);
    return ran.stdout.toString();
  }

  /** Starts a CLI in a terminal of its own, or in a pane that is there, and waits until it can be typed into. */
  async open(
    world: World,
    cli: Cli,
    folder: string,
    more: { resume?: boolean; model?: Model; env?: Record<string, string>; pane?: string } = {},
  ): Promise<Terminal> {
    const host = await this.hostFor(world, cli);
    const model = host?.model ?? more.model ?? new Model();
    const name = more.pane ?? `t${++this.count}`;
    const env = { ...world.env, ...cli.env(model), PWD: folder, ...more.env };
    // Below a shell, as a person starts it: tmux itself lets go on what it has started and somebody stops.
    const shell = ["sh", "-c", '"$@"; :', "sh", ...cli.tui(more.resume ?? false, folder, world)];
    const words = ["env", "-i", ...Object.entries(env).map(([k, v]) => `${k}=${v}`), ...shell];
    const place = more.pane ? ["respawn-pane", "-k", "-t", name] : ["new-session", "-d", "-s", name, "-x", "160", "-y", "45"];
    this.tmux(...place, "-c", folder, ...words);
    const terminal = new Terminal(this, name, model, host?.child.pid);
    this.opened.push(terminal.pid);
    await terminal.shows(cli.ready);
    return terminal;
  }

  /** The process behind the terminals of such a CLI; a new one where there is none or it was killed. */
  private async hostFor(world: World, cli: Cli) {
    if (!cli.host) return undefined;
    if (this.host && this.host.child.exitCode === null && this.host.child.signalCode === null) return this.host;
    const model = this.host?.model ?? new Model();
    const { argv, socket } = cli.host(model, world);
    rmSync(socket, { force: true });
    const child = Bun.spawn(argv, {
      cwd: world.root,
      env: { ...world.env, ...cli.env(model) },
      stdin: "ignore",
      stdout: "ignore",
      stderr: "ignore",
    });
    this.host = { child, model };
    await until(`${cli.name}'s socket`, () => existsSync(socket));
    return this.host;
  }

  /** Ends all terminals and what runs in them; some CLIs do not end with their terminal. */
  async close(): Promise<void> {
    const pids = this.opened.filter(alive).flatMap((pid) => [pid, ...descendants(pid)]);
    this.host?.child.kill();
    try {
      this.tmux("kill-server");
    } catch {
      // No terminal was opened.
    }
    const end = performance.now() + 3_000;
    while (pids.some(alive) && performance.now() < end) await Bun.sleep(100);
    for (const pid of pids) signal(pid, "SIGKILL");
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export class Terminal {
  readonly model: Model;
  /** The shell in which the CLI runs, and which ends with it. */
  readonly pid: number;
  /** The process that runs the agents of all terminals, where the CLI has one. */
  private readonly host: number | undefined;
  private readonly terminals: Terminals;
  private readonly name: string;

  constructor(terminals: Terminals, name: string, model: Model, host: number | undefined) {
    this.terminals = terminals;
    this.name = name;
    this.model = model;
    this.pid = Number(terminals.tmux("display-message", "-p", "-t", name, "#{pane_pid}").trim());
    this.host = host;
  }

  get lives(): boolean {
    return alive(this.pid);
  }

  screen(): string {
    return this.terminals.tmux("capture-pane", "-p", "-t", this.name);
  }

  /** Waits for something on the screen. */
  async shows(wanted: RegExp, ms?: number): Promise<void> {
    try {
      await until(`${wanted} on the screen`, () => wanted.test(this.screen()), ms);
    } catch (error) {
      throw new Error(`${error instanceof Error ? error.message : error}; it shows:\n${this.screen().trim()}`);
    }
  }

  key(...keys: string[]): void {
    this.terminals.tmux("send-keys", "-t", this.name, ...keys);
  }

  /** Types a line; Enter goes off once the line stands on the screen, since programs take fast keys for a paste. */
  async type(text: string): Promise<void> {
    this.terminals.tmux("send-keys", "-t", this.name, "-l", text);
    await this.shows(new RegExp(RegExp.escape(text.slice(0, 60))));
    await Bun.sleep(300);
    this.key("Enter");
  }

  /** Types a prompt and waits until the model has been asked. A terminal that was busy may have lost the Enter. */
  async prompt(text: string): Promise<number> {
    const from = this.model.requests.length;
    await this.type(text);
    for (let tries = 0; ; tries++) {
      try {
        return await this.model.saw(text, from, 5_000);
      } catch (error) {
        if (tries === 23) throw new Error(`${error instanceof Error ? error.message : error}; it shows:\n${this.screen().trim()}`);
        this.key("Enter");
      }
    }
  }

  /** Types a prompt unless the text reaches the model before; the number of the request that has it. */
  async promptOrWake(text: string, wanted: string): Promise<number> {
    await this.type(text);
    return this.model.saw(wanted);
  }

  /** The CLI's own processes. */
  processes(): number[] {
    const shared = this.host ? [this.host, ...descendants(this.host)] : [];
    return [...shared, ...descendants(this.pid)].filter((pid) => !isRenn(pid));
  }

  /** Ends the CLI at once, as a crash would. */
  crash(): void {
    for (const pid of this.processes()) signal(pid, "SIGKILL");
  }

  /** Ends the CLI as closing its window does. */
  async end(): Promise<void> {
    const pids = descendants(this.pid);
    this.terminals.tmux("kill-session", "-t", this.name);
    await until("the CLI has ended", () => !pids[0] || !alive(pids[0]));
    for (const pid of pids) signal(pid, "SIGTERM");
  }
}

/** Sends a signal where the process is still there. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended.
  }
}

/** Whether it runs: one that has ended may stay as a zombie where nobody fetches its status. */
function alive(pid: number): boolean {
  try {
    return !/\) Z [^)]*$/.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return false;
  }
}

function isRenn(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/comm`, "utf8").trim() === "renn";
  } catch {
    return false;
  }
}

/** Children of a process and theirs. */
export function descendants(pid: number): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "latin1");
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]));
    } catch {
      // It has ended meanwhile.
    }
  }
  const below = (of: number): number[] => [...parents].filter(([, p]) => p === of).flatMap(([child]) => [child, ...below(child)]);
  return below(pid);
}
