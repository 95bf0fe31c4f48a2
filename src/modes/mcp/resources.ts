// The bus as resources: what a person looks at in a client, and the news that one of them changed. Reading them moves no delivery.
import type { Client, ClientEvent } from "../../client.ts";
import type { Peer } from "./bus.ts";
import { harmlessDeep } from "./data.ts";

const mimeType = "application/json";

/** The resources of a fixed address. */
export const resources = [
  { uri: "renn://threads", name: "threads", description: "The most recent threads", mimeType },
  { uri: "renn://inbox", name: "inbox", description: "This session's threads and what is unread in them", mimeType },
  { uri: "renn://peers", name: "peers", description: "Who is on the bus", mimeType },
];

/** The resource of one thread. */
export const templates = [
  { uriTemplate: "renn://thread/{id}", name: "thread", description: "A thread with bodies and deliveries", mimeType },
];

const threadUri = /^renn:\/\/thread\/([1-9]\d{0,15})$/;

/** Whether there is such a resource, as far as its address says. */
export const isResource = (uri: string) => threadUri.test(uri) || resources.some((resource) => resource.uri === uri);

/** A resource's content as JSON text. Throws ProtocolError; the address must be one of ours. */
export async function readResource(peer: Peer, uri: string): Promise<{ uri: string; mimeType: string; text: string }> {
  return { uri, mimeType, text: JSON.stringify(harmlessDeep(await content(peer, uri))) };
}

function content(peer: Peer, uri: string): Promise<unknown> {
  const thread = threadUri.exec(uri)?.[1];
  if (thread) return peer.call("export", { threadId: Number(thread) });
  if (uri === "renn://inbox") return peer.call("inbox", { unreadOnly: false });
  return uri === "renn://peers" ? peer.call("status", {}) : peer.call("threads", {});
}

const gatherMs = 100;
const reopenMs = 1_000;

/** Tells the client which of the resources that it subscribed to have changed. One watching connection, open while there are subscriptions. */
export class Subscriptions {
  private readonly uris = new Set<string>();
  private readonly changed = new Set<string>();
  private readonly updated: (uri: string) => void;
  private client: Client | null = null;
  /** Under way or done; null when a watch must be opened. */
  private opening: Promise<void> | null = null;
  private timer: ReturnType<typeof setTimeout> | null = null;
  constructor(updated: (uri: string) => void) {
    this.updated = updated;
  }

  /** From now on tells of changes of `uris`. Throws where the bus cannot be watched. */
  async add(peer: Peer, uris: readonly string[]): Promise<void> {
    for (const uri of uris) this.uris.add(uri);
    this.opening ??= this.watch(peer, true);
    try {
      await this.opening;
    } catch (error) {
      for (const uri of uris) this.uris.delete(uri);
      throw error;
    }
  }

  /** The same for a client that was promised it before the watch was open: it is told to look once, for it may have missed something. */
  async promised(peer: Peer, uris: readonly string[]): Promise<void> {
    await this.add(peer, uris);
    this.mark(uris);
  }

  /** Ends it for one address. */
  remove(uri: string): void {
    this.uris.delete(uri);
    if (!this.uris.size) this.close();
  }

  /** Ends it for all. */
  close(): void {
    this.uris.clear();
    this.client?.close();
    this.client = null;
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
  }

  private async watch(peer: Peer, start: boolean): Promise<void> {
    try {
      this.client = await peer.separate({ start, onEvent: (event) => this.take(event), onClose: () => this.reopen(peer) });
      await this.client.call("watch", {});
    } catch (error) {
      this.opening = null;
      throw error;
    }
  }

  /** A broker that went away is not started for this, only waited for; what happened meanwhile may be anything. */
  private reopen(peer: Peer): void {
    this.opening = null;
    setTimeout(() => {
      if (!this.uris.size || this.opening !== null) return;
      this.opening = this.watch(peer, false);
      this.opening.then(
        () => this.mark([...this.uris]),
        () => this.reopen(peer),
      );
    }, reopenMs).unref();
  }

  private take(event: ClientEvent): void {
    if (event.event !== "watch") return;
    const { payload } = event;
    if (payload.kind === "presence" || payload.kind === "renamed") return this.mark(["renn://peers"]);
    const thread = payload.kind === "message" ? payload.message.threadId : payload.threadId;
    this.mark(["renn://threads", "renn://inbox", `renn://thread/${thread}`]);
  }

  private mark(uris: readonly string[]): void {
    for (const uri of uris) if (this.uris.has(uri)) this.changed.add(uri);
    if (!this.changed.size || this.timer) return;
    this.timer = setTimeout(() => {
      this.timer = null;
      for (const uri of this.changed) this.updated(uri);
      this.changed.clear();
    }, gatherMs);
  }
}
