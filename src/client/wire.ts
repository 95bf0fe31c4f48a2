// The bytes of a client's connection: finding the broker, starting it where asked, and writing what the socket takes only in parts.
import type { Socket, SocketHandler } from "bun";
import { peerCredentials } from "../credentials.ts";
import type { HomePaths } from "../home.ts";
import { ProtocolError } from "../protocol/errors.ts";
import { sandboxError, sandboxed, socketPath } from "./place.ts";
import { type Started, spawnBroker } from "./start.ts";

/** A connection as the client needs it. */
export type Wire = { write(text: string): void; end(): void };
export type WireHandlers = { data: (bytes: Uint8Array) => void; close: () => void };

const startMsMax = 3_000;
const startPollMs = 15;
const tokenMsMax = 500;

/** Connects to the broker of a home, and starts it where asked and needed. Throws `broker_down`. */
export async function openConnection(paths: HomePaths, start: boolean, handlers: WireHandlers): Promise<{ wire: Wire; token: string }> {
  const found = await tryOpen(paths, handlers);
  if (found) return found;
  if (sandboxed()) throw sandboxError();
  if (!start) throw new ProtocolError("broker_down", "the broker is not running; start it with: renn broker start");
  const child = startOrSay(paths);
  for (const deadline = performance.now() + startMsMax; performance.now() < deadline; ) {
    await Bun.sleep(startPollMs);
    const opened = await tryOpen(paths, handlers);
    if (opened) return opened;
    if (child.exitCode()) break;
  }
  const why = child.complaint().replace(/^renn: /, "");
  throw new ProtocolError("broker_down", why || "the broker does not start; see why with: renn broker run");
}

function startOrSay(paths: HomePaths): Started {
  try {
    return spawnBroker(paths);
  } catch (error) {
    throw new ProtocolError("broker_down", `the broker cannot be started: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Null when nobody listens there yet; throws where waiting does not help. */
async function tryOpen(paths: HomePaths, handlers: WireHandlers): Promise<{ wire: Wire; token: string } | null> {
  const path = socketPath(paths);
  if (path === null) return null;
  const wire = new Connection();
  try {
    await Bun.connect({ unix: path, socket: wire.handlers(handlers) });
  } catch (error) {
    const code = (error as { code?: string }).code ?? "";
    if (code === "ENOENT" || code === "ECONNREFUSED") return null;
    if (code === "EPERM" || code === "EACCES") throw sandboxError();
    throw new ProtocolError("broker_down", `cannot connect to ${path}: ${code || String(error)}`);
  }
  const uid = wire.peerUid();
  if (uid !== null && uid !== process.getuid?.()) {
    wire.end();
    throw new ProtocolError("broker_down", `who listens on ${path} is another user (uid ${uid}); the token is not sent there`);
  }
  return { wire, token: await readToken(paths, wire) };
}

/** The home's token. A broker whose token was removed writes it again as soon as somebody connects. */
async function readToken(paths: HomePaths, wire: Wire): Promise<string> {
  for (const deadline = performance.now() + tokenMsMax; performance.now() < deadline; await Bun.sleep(startPollMs))
    try {
      return (await Bun.file(paths.token).text()).trim();
    } catch (error) {
      if ((error as { code?: string }).code !== "ENOENT") break;
    }
  wire.end();
  throw new ProtocolError("broker_down", `${paths.token} cannot be read; make a new one with: renn token --rotate`);
}

/** Gathers what one turn writes into one write, and keeps what the socket does not take yet. */
class Connection implements Wire {
  private socket: Socket<undefined> | null = null;
  private readonly unsent: Uint8Array[] = [];
  private flushing = false;
  private ended = false;

  handlers(outer: WireHandlers): SocketHandler<undefined> {
    return {
      open: (socket) => {
        this.socket = socket;
      },
      data: (_socket, bytes) => outer.data(bytes),
      drain: () => this.flush(),
      close: () => outer.close(),
      error: () => outer.close(),
      connectError: () => {},
    };
  }

  /** The user who listens at the other end; null where the platform does not tell. */
  peerUid(): number | null {
    // The descriptor is there at run time, and not yet in the types.
    const fd = (this.socket as { fd?: number } | null)?.fd;
    return fd === undefined || fd < 0 ? null : (peerCredentials(fd)?.uid ?? null);
  }

  write(text: string): void {
    this.unsent.push(Buffer.from(text));
    if (this.flushing) return;
    this.flushing = true;
    queueMicrotask(() => this.flush());
  }

  end(): void {
    this.ended = true;
    this.socket?.end();
  }

  private flush(): void {
    this.flushing = false;
    if (this.ended || !this.socket || !this.unsent.length) return;
    const bytes = Buffer.concat(this.unsent);
    this.unsent.length = 0;
    const taken = Math.max(0, this.socket.write(bytes));
    if (taken < bytes.length) this.unsent.push(bytes.subarray(taken));
  }
}
