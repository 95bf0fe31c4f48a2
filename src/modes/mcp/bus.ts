// The bus as this server uses it: one connection for each acting session, opened at its first call, opened again after a broker restart.
import { Client, type ClientEvent } from "../../client.ts";
import type { ClientName } from "../../protocol/constants.ts";
import { ProtocolError } from "../../protocol/errors.ts";
import type { Fields, RequestType, Result } from "../../protocol/schemas.ts";
import { type Identity, pinnedHandle, type Surroundings, UnknownCaller } from "./identity.ts";

/** How often a request is tried when the broker goes away under it. Sends carry a key, so that none is stored twice. */
const triesMax = 3;
/** Pause before another try, in ms, times the number of tries so far: an old broker needs a moment to leave. */
const pauseMs = 100;
/** Sessions with an open connection; the one that was used least recently gives way. */
const peersMax = 64;

const lost = (error: unknown) => error instanceof ProtocolError && error.code === "broker_closed";

/** Runs `attempt`, again where the broker closed the connection under it. */
export async function again<T>(attempt: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++)
    try {
      return await attempt();
    } catch (error) {
      if (!lost(error) || tries === triesMax) throw error;
      await Bun.sleep(pauseMs * tries);
    }
}

type Extra = { start?: boolean; onEvent?: (event: ClientEvent) => void; onClose?: () => void };

/** One acting session: its connection, and how it is bound to its handle. */
export class Peer {
  private readonly fields: Fields<"register">;
  private client: Client | null = null;
  private opening: Promise<Client> | null = null;
  constructor(fields: Fields<"register">) {
    this.fields = fields;
  }

  /** A request as this session. Throws ProtocolError. */
  call<T extends RequestType>(type: T, fields: Fields<T>): Promise<Result<T>> {
    return again(async () => (await this.connected()).call(type, fields));
  }

  /** The bound connection, opened where there is none; throws what the broker says to that. */
  connected(): Promise<Client> {
    if (this.opening) return this.opening;
    if (this.client?.open) return Promise.resolve(this.client);
    this.opening = this.separate()
      .then((client) => {
        this.client = client;
        return client;
      })
      .finally(() => {
        this.opening = null;
      });
    return this.opening;
  }

  /** A connection of its own as the same peer, for what blocks its connection or listens on it. The caller closes it. */
  async separate(extra: Extra = {}): Promise<Client> {
    const client = await Client.connect({ start: true, ...extra });
    try {
      await client.call("register", this.fields);
      return client;
    } catch (error) {
      client.close();
      throw error;
    }
  }

  /** Lets the connection go; the next call opens another. */
  close(): void {
    this.client?.close();
    this.client = null;
  }
}

/** The peers that this process acts as. */
export class Bus {
  private readonly peers = new Map<string, Peer>();
  private readonly around: Surroundings;
  private readonly version: string;
  constructor(around: Surroundings, version: string) {
    this.around = around;
    this.version = version;
  }

  /** The bound peer of an identity. Throws UnknownCaller where the bus knows no session for it. Never makes a peer, but for a handle in RENN_HANDLE. */
  async as(identity: Identity): Promise<Peer> {
    if (identity.kind === "session") return this.session(identity);
    const found = await this.nearest(identity.ancestors);
    if (!found) return this.pinned("renn finds no session on the bus above this server's process");
    if (!found.client || !identity.clients.includes(found.client))
      throw new UnknownCaller(`the nearest session on the bus is ${found.handle}, of another program: it is not spoken for`);
    return this.peer(found.handle, { handle: found.handle }, true);
  }

  /** Lets every connection go. */
  close(): void {
    for (const peer of this.peers.values()) peer.close();
    this.peers.clear();
  }

  private async session({ client, sessionId, ancestors, alone }: Identity & { kind: "session" }): Promise<Peer> {
    const key = `${client} ${sessionId}`;
    try {
      return await this.peer(key, { client, sessionHint: sessionId }, alone);
    } catch (error) {
      if (!(error instanceof ProtocolError) || error.code !== "unknown_handle") throw error;
    }
    const unknown = `this ${client} session (${sessionId}) is not on the bus`;
    if (!alone || (await this.nearest(ancestors))) throw new UnknownCaller(`${unknown}: ${joinAdvice}`);
    return this.pinned(unknown);
  }

  private pinned(why: string): Promise<Peer> {
    const handle = pinnedHandle(this.around.env);
    if (!handle) throw new UnknownCaller(`${why}: ${joinAdvice}, or set RENN_HANDLE for this server`);
    return this.peer(`pinned ${handle}`, { handle, client: "other", cwd: process.cwd() }, true);
  }

  /** The nearest live session above this process, without becoming it: the owner's `via`. */
  private nearest(ancestors: number[]): Promise<{ handle: string; client: ClientName | null } | null> {
    return again(async () => {
      const client = await Client.connect({ start: true });
      try {
        const { via } = await client.call("register", { clientKind: "mcp", owner: true, ancestors, version: this.version });
        if (via === null) return null;
        const { peers } = await client.call("status", { live: true });
        return { handle: via, client: peers.find((peer) => peer.handle === via)?.client ?? null };
      } finally {
        client.close();
      }
    });
  }

  private async peer(key: string, fields: Omit<Fields<"register">, "clientKind">, alone: boolean): Promise<Peer> {
    const peer = this.peers.get(key) ?? new Peer({ clientKind: "mcp", version: this.version, ...fields });
    await again(() => peer.connected());
    this.peers.delete(key);
    this.peers.set(key, peer);
    for (const [other, old] of this.peers) {
      if (other === key || !(alone || this.peers.size > peersMax)) continue;
      old.close();
      this.peers.delete(other);
    }
    return peer;
  }
}

const joinAdvice = "run `renn init` in a terminal and restart this session, so that renn's hooks report it";
