// A home of its own with a broker, `renn init` done, and the CLIs on PATH: where the scenarios happen.
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { linkClis } from "./install.ts";
import { must, until } from "./poll.ts";

/** What a run of `renn` gave. */
export type Ran = { code: number; out: string; err: string };

/** One line of `renn watch --json`. */
type Seen = { kind: string; messageId?: number; handle?: string; state?: string };

/** A delivery as `renn why --json` shows it. */
type Why = { handle: string; state: string; presence: string; attempts: { channel: string; outcome: string }[] };

type Peer = { handle: string; cwd: string | null; presence: string; client: string | null };

/** Whether the peer's session lives. */
export const isThere = (peer: Peer): boolean => !/offline/.test(peer.presence);

export class World {
  readonly root: string;
  readonly home: string;
  readonly bin: string;
  readonly env: Record<string, string>;
  private readonly seen: Seen[] = [];
  private readonly children: Bun.Subprocess[] = [];
  private readonly program: string;
  /** Every project folder so far. */
  readonly made: string[] = [];

  constructor(program: string) {
    this.root = realpathSync(mkdtempSync(join(tmpdir(), "renn-e2e-")));
    this.home = join(this.root, "home дом");
    this.bin = join(this.root, "bin");
    this.program = program;
    mkdirSync(join(this.home, ".renn"), { recursive: true, mode: 0o700 });
    linkClis(this.bin);
    symlinkSync(program, join(this.bin, "renn"));
    this.env = { PATH: `${this.bin}:/usr/local/bin:/usr/bin:/bin`, HOME: this.home, TERM: "xterm-256color", LANG: "C.UTF-8" };
    // Some CLIs run the user's login shell.
    writeFileSync(join(this.home, ".profile"), `PATH="${this.env.PATH}"\n`);
    // Many scenarios share the owner as sender, and one that is tried again says the same again.
    writeFileSync(join(this.home, ".renn", "config.json"), JSON.stringify({ limits: { sendsPerWindow: 500, duplicateWindowMs: 100 } }));
  }

  /** A new project folder. */
  folder(name: string): string {
    const path = join(this.root, `${name}-${this.made.length + 1}`);
    mkdirSync(path, { recursive: true });
    this.made.push(path);
    return path;
  }

  /** Writes a file under the home. */
  write(path: string, content: unknown): void {
    const file = join(this.home, path);
    mkdirSync(join(file, ".."), { recursive: true });
    writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content, null, 2));
  }

  /** Runs renn to its end. */
  async renn(...args: string[]): Promise<Ran> {
    const child = Bun.spawn([this.program, ...args], { cwd: this.root, env: this.env, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
    this.children.push(child);
    const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    return { code, out, err };
  }

  /** Runs renn with `--json` and takes its answer. Throws where it did not end well. */
  async ask<T>(...args: string[]): Promise<T> {
    const { code, out, err } = await this.renn("--json", ...args);
    must(code === 0, `renn ${args.join(" ")} ended with ${code}: ${err || out}`);
    return JSON.parse(out) as T;
  }

  /** The option that tells init where a CLI's folder is. */
  configDir({ configDir }: { configDir?: string }): string[] {
    return configDir ? ["--config-dir", join(this.home, configDir)] : [];
  }

  /** Starts the broker, joins the CLIs and begins to watch. */
  async open(clients: { client: string; configDir?: string }[]): Promise<void> {
    for (const cli of clients) {
      const ran = await this.renn("init", "--yes", "--client", cli.client, ...this.configDir(cli));
      must(ran.code === 0, `init of ${cli.client}: ${ran.err || ran.out}`);
    }
    await this.ask("status");
    const watch = Bun.spawn([this.program, "--json", "watch"], {
      cwd: this.root,
      env: this.env,
      stdin: "ignore",
      stdout: "pipe",
      stderr: "ignore",
    });
    this.children.push(watch);
    void this.listen(watch.stdout);
  }

  private async listen(stream: ReadableStream<Uint8Array>): Promise<void> {
    let rest = "";
    const decoder = new TextDecoder();
    for await (const bytes of stream) {
      rest += decoder.decode(bytes, { stream: true });
      const lines = rest.split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line) this.seen.push(JSON.parse(line));
    }
  }

  /** Every state that a delivery was seen to take, in order; "queued" at first by definition. */
  states(messageId: number, handle: string): string[] {
    return this.seen.flatMap((s) => (s.kind === "state" && s.messageId === messageId && s.handle === handle && s.state ? [s.state] : []));
  }

  /** From now on the first hook that hands a message over kills these processes before they can read it: a crash between hand-over and proof. */
  killAtHandOver(pids: number[]): void {
    const marker = join(this.root, "kill");
    writeFileSync(marker, pids.join(" "));
    const link = join(this.home, ".renn/bin/renn");
    rmSync(link);
    const script = `#!/bin/sh
if [ "$1" = hook ] && [ -e '${marker}' ]; then
  out=$('${this.program}' "$@")
  case "$out" in *murmur*) pids=$(cat '${marker}'); rm '${marker}'; kill -9 $pids;; esac
  printf %s "$out"
  exit 0
fi
exec '${this.program}' "$@"
`;
    writeFileSync(link, script, { mode: 0o700 });
  }

  /** Sends as the owner. */
  async send(
    to: string,
    body: string,
    ...more: string[]
  ): Promise<{ messageId: number; threadId: number; deliveries: { handle: string; state: string; presence: string; reach: string }[] }> {
    return this.ask("send", to, "-m", body, ...more);
  }

  /** What became of a delivery. */
  async why(messageId: number, handle: string): Promise<Why> {
    const answer = await this.ask<{ deliveries: Why[] }>("why", String(messageId), handle);
    const row = answer.deliveries[0];
    must(row, `m${messageId} has no delivery to ${handle}`);
    return row;
  }

  /** Waits until the delivery is in the state; the way that it went. */
  async state(messageId: number, handle: string, state: string, ms?: number): Promise<Why> {
    let last: Why | undefined;
    try {
      return await until(
        `m${messageId} to ${handle} ${state}`,
        async () => {
          last = await this.why(messageId, handle);
          return last.state === state ? last : null;
        },
        ms,
      );
    } catch (error) {
      throw new Error(`${error instanceof Error ? error.message : error}; it is ${JSON.stringify(last)}`);
    }
  }

  /** Peers that live in a folder. */
  async peersIn(folder: string): Promise<Peer[]> {
    const { peers } = await this.ask<{ peers: Peer[] }>("status");
    return peers.filter((p) => p.cwd === folder);
  }

  /** The handle of a folder's session, once it is on the bus: of one that lives, else of one that has ended. */
  async handleIn(folder: string, wanted: (peer: Peer) => boolean = () => true): Promise<string> {
    const peer = await until(`a session in ${folder}`, async () => {
      const peers = (await this.peersIn(folder)).filter(wanted);
      return peers.find(isThere) ?? peers[0];
    });
    return peer.handle;
  }

  /** Waits for the presence of a peer. */
  async presence(handle: string, wanted: RegExp, ms = 60_000): Promise<void> {
    await until(
      `${handle} ${wanted}`,
      async () => {
        const { peers } = await this.ask<{ peers: Peer[] }>("status");
        return peers.some((p) => p.handle === handle && wanted.test(p.presence));
      },
      ms,
    );
  }

  /** What went wrong in hooks and in the broker, for a failed run. */
  logs(): string {
    return ["hook.log", "broker.log"]
      .map((name) => {
        try {
          return `${name}:\n${readFileSync(join(this.home, ".renn", name), "utf8")
            .split("\n")
            .slice(-12)
            .join("\n")}`;
        } catch {
          return `${name}: none`;
        }
      })
      .join("\n");
  }

  async close(): Promise<void> {
    for (const child of this.children) child.kill();
    await this.renn("broker", "stop");
    if (!process.env.E2E_KEEP) rmSync(this.root, { recursive: true, force: true });
  }
}
