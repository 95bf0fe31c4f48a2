// `renn mcp`: the bus as an MCP server on standard input and output. Standard output carries the protocol alone; what goes wrong is said on standard error.
import type { Server } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { realSystem } from "../system.ts";
import { version } from "../version.ts";
import { Bus } from "./mcp/bus.ts";
import { identify, type Surroundings } from "./mcp/identity.ts";
import type { Subscriptions } from "./mcp/resources.ts";
import { callerOf, makeServer, type Parts } from "./mcp/server.ts";
import { listenedUris, ObservedStdio } from "./mcp/transport.ts";

/** How often it is looked whether the CLI that started this server is still its parent, in ms. Standard input mostly tells it first. */
const parentCheckMs = 2_000;
/** What is still under way at the end may take so long, in ms. */
const endMs = 200;

/** Serves until standard input ends or the parent is gone. Never writes anything but the protocol to standard output. */
export async function mcp(): Promise<void> {
  const around: Surroundings = { env: process.env, parentPid: process.ppid, system: realSystem };
  const transport = new ObservedStdio();
  const bus = new Bus(around, version);
  const current: { server: Server | null; subscriptions: Promise<Subscriptions> | null } = { server: null, subscriptions: null };
  const subscriptions = () => {
    current.subscriptions ??= import("./mcp/resources.ts").then(
      (room) => new room.Subscriptions((uri) => void current.server?.sendResourceUpdated({ uri }).catch(complain)),
    );
    return current.subscriptions;
  };
  const parts: Parts = { bus, around, version, transport, subscriptions };
  const end = () => {
    bus.close();
    void current.subscriptions?.then((open) => open.close());
    setTimeout(() => process.exit(0), endMs).unref();
  };
  process.on("unhandledRejection", complain);
  serveStdio(() => (current.server = makeServer(parts)), { transport, onerror: complain });
  observe(transport, parts, end);
  setInterval(() => process.ppid === around.parentPid || process.exit(0), parentCheckMs).unref();
}

function complain(error: unknown): void {
  process.stderr.write(`renn mcp: ${error instanceof Error ? error.message : String(error)}\n`);
}

/** Stands behind the library at its transport: to see the end, and what a 2026-era client listens to. */
function observe(transport: ObservedStdio, { bus, around, subscriptions }: Parts, end: () => void): void {
  const { onclose, onmessage } = transport;
  transport.onclose = () => {
    onclose?.();
    end();
  };
  transport.onmessage = (message) => {
    onmessage?.(message);
    const uris = listenedUris(message);
    if (uris.length) void follow(uris, "params" in message ? message.params?._meta : undefined).catch(complain);
  };
  const follow = async (uris: string[], meta: Record<string, unknown> | undefined) => {
    const peer = await bus.as(await identify(callerOf(null, meta), around));
    await (await subscriptions()).promised(peer, uris);
  };
}
