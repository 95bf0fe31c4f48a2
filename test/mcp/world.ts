// A home with a real broker, sessions on it, and `renn mcp` behind the official client: what the MCP tests stand on.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client as McpClient } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client, type ClientOptions } from "../../src/client.ts";
import { type HomePaths, homePaths } from "../../src/home.ts";
import type { ClientName } from "../../src/protocol/constants.ts";
import { realSystem } from "../../src/system.ts";
import { rennCommand } from "../binary.ts";

/** Waits until `look` gives something; throws after `ms`. */
export async function until<T>(look: () => T | Promise<T>, ms = 10_000): Promise<NonNullable<T>> {
  for (const deadline = performance.now() + ms; ; await Bun.sleep(10)) {
    const found = await look();
    if (found) return found;
    if (performance.now() > deadline) throw new Error(`waited ${ms} ms in vain`);
  }
}

type ToolText = { content: { type: string; text?: string }[]; structuredContent?: unknown; isError?: boolean };

/** The text of a tool's answer. */
export const textOf = (result: unknown) => ((result as ToolText).content[0]?.text ?? "") as string;
/** The data of a tool's answer. */
export const dataOf = <T>(result: unknown) => (result as ToolText).structuredContent as T;
/** Whether it is an error. */
export const failed = (result: unknown) => (result as ToolText).isError === true;

export class World {
  readonly paths: HomePaths;
  readonly env: Record<string, string>;
  private readonly folder = mkdtempSync(join(tmpdir(), "renn mcp ünï шина-"));
  private broker: Bun.Subprocess | null = null;
  private readonly closers: (() => unknown)[] = [];
  constructor() {
    this.env = { PATH: process.env.PATH ?? "", HOME: this.folder, RENN_HOME: join(this.folder, "home") };
    this.paths = homePaths(this.env);
  }

  /** Starts the broker and waits until it serves. */
  async start(): Promise<void> {
    this.broker = Bun.spawn([...rennCommand(), "broker", "run"], { env: this.env, stdio: ["ignore", "ignore", "ignore"] });
    const client = await until(() => Client.connect({ paths: this.paths }).catch(() => null));
    await client.call("register", { clientKind: "cli", owner: true });
    client.close();
  }

  /** Stops the broker and waits for its end. */
  async stop(): Promise<void> {
    this.broker?.kill("SIGTERM");
    await this.broker?.exited;
    this.broker = null;
  }

  /** Stops a broker that somebody else started in this home. */
  async stopStarted(): Promise<void> {
    const client = await Client.connect({ paths: this.paths });
    await client.call("register", { clientKind: "cli", owner: true });
    const { pid } = await client.call("stats", {});
    process.kill(pid, "SIGTERM");
    await until(() => realSystem.processStart(pid) === null);
  }

  /** A live session on the bus, in a process of its own unless a pid is given. Its connection is bound to it. */
  async session(
    client: ClientName,
    id: string,
    options: ClientOptions & { pid?: number; handle?: string; listen?: boolean } = {},
  ): Promise<Client> {
    const { pid = this.process(), handle, listen, ...rest } = options;
    const connection = await Client.connect({ paths: this.paths, ...rest });
    this.closers.push(() => connection.close());
    await connection.call("session", {
      event: "session-start",
      client,
      cliSessionId: id,
      host: { hostPid: pid, hostStart: realSystem.processStart(pid) ?? "" },
      ...(handle ? { handle } : {}),
      ...(listen ? { listen } : {}),
    });
    return connection;
  }

  /** A process that lives as long as the world: the host of a session. */
  process(): number {
    const child = Bun.spawn(["sleep", "60"], { stdio: ["ignore", "ignore", "ignore"] });
    this.closers.push(() => child.kill("SIGKILL"));
    return child.pid;
  }

  /** `renn mcp` behind a client that calls itself `name`. */
  async mcp(
    name: string,
    env: Record<string, string> = {},
    options: ConstructorParameters<typeof McpClient>[1] = {},
  ): Promise<McpClient & { stderr: () => string }> {
    const [command = "", ...args] = rennCommand();
    const transport = new StdioClientTransport({ command, args: [...args, "mcp"], env: { ...this.env, ...env }, stderr: "pipe" });
    let stderr = "";
    transport.stderr?.on("data", (chunk: Buffer) => {
      stderr += chunk.toString();
    });
    const client = new McpClient({ name, version: "1" }, options);
    await client.connect(transport);
    this.closers.push(() => client.close());
    return Object.assign(client, { stderr: () => stderr });
  }

  /** Ends everything that was started here and removes the home. */
  async end(): Promise<void> {
    for (const close of this.closers.splice(0).reverse()) await close();
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
