// A home of its own in which commands run as processes, and connections that stand for sessions.
import { unlinkSync } from "node:fs";
import { Client, type ClientOptions } from "../../src/client.ts";
import { realSystem } from "../../src/system.ts";
import { rennCommand } from "../binary.ts";
import { emptyHome } from "../fake-broker.ts";

export type Ran = { status: number; stdout: string; stderr: string };
type RunOptions = { input?: string; env?: Record<string, string>; cwd?: string };

export type World = ReturnType<typeof cliWorld>;

/** A fresh home; the first command that needs the broker starts it, `end` stops it. */
export function cliWorld() {
  const home = emptyHome();
  // The broker makes its own.
  unlinkSync(home.token);
  const env = { RENN_HOME: home.home, HOME: home.home, PATH: process.env.PATH ?? "", LANG: "C.UTF-8" };
  const clients: Client[] = [];

  /** Runs `renn` with arguments and waits for its end. */
  async function renn(args: string[], options: RunOptions = {}): Promise<Ran> {
    const child = Bun.spawn([...rennCommand(), ...args], {
      cwd: options.cwd ?? home.home,
      env: { ...env, ...options.env },
      stdin: options.input === undefined ? "ignore" : Buffer.from(options.input),
      stdout: "pipe",
      stderr: "pipe",
    });
    const [stdout, stderr, status] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    return { status, stdout, stderr };
  }

  /** Runs `renn … --json`, which must end well, and gives the document. */
  async function json<T = Record<string, unknown>>(args: string[], options: RunOptions = {}): Promise<T> {
    const { status, stdout, stderr } = await renn([...args, "--json"], options);
    if (status !== 0) throw new Error(`renn ${args.join(" ")}: ${stderr}`);
    return JSON.parse(stdout) as T;
  }

  async function connect(options: ClientOptions = {}): Promise<Client> {
    const client = await Client.connect({ paths: home, ...options });
    clients.push(client);
    return client;
  }

  /** A session whose host process is this test: commands that the test runs are then inside of it. */
  async function sessionHere(handle: string): Promise<Client> {
    const client = await connect();
    const host = { hostPid: process.pid, hostStart: realSystem.processStart(process.pid) ?? "" };
    await client.call("session", {
      event: "session-start",
      client: "claude",
      cliSessionId: `session-of-${handle}`,
      host,
      handle,
      source: "startup",
    });
    return client;
  }

  async function end(): Promise<void> {
    for (const client of clients) client.close();
    await renn(["broker", "stop"]);
    home.remove();
  }

  return { home, env, renn, json, connect, sessionHere, end };
}
