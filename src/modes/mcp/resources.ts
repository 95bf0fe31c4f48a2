// The bus as resources: what a person looks at in a client, and the news that one of them changed. Reading them moves no delivery.
import type { Client, ClientEvent } from "../../client.ts";
import type { Peer } from "./bus.ts";
import { harmlessDeep } from "./present.ts";

const mimeType = "application/json";

/** The resources of a fixed address. */
export const resources = [
  { uri: "renn://threads", name: "threads", description: "The most recent threads", mimeType },
  { uri: "renn://inbox", name: "inbox", description: "This session's threads and what is unread in them", mimeType },
  { uri: "renn://peers", name: "peers", description: "Who is on the bus", mimeType },
];

/** The resource of one thread. */
export const templates = [{ uriTemplate: "renn://thread/{id}", name: "thread", description: "A thread with bodies and deliveries", mimeType }];

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
  private timer: ReturnType<typeof setTimeout> | null = null;
  constructor(updated: (uri: string) => void) {
    this.updated = updated;
  }

  /** From now on tells of changes of `uri`. Throws where the bus cannot be watched. */
  async add(peer: Peer, uri: string): Promise<void> {
    this.uris.add(uri);
    if (!this.client?.open) await this.watch(peer, true);
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
    const client = await peer.separate({ start, onEvent: (event) => this.take(event), onClose: () => this.reopen(peer) });
    this.client = client;
    await client.call("watch", {});
  }

  /** A broker that went away is not started for this, only waited for; what happened meanwhile may be anything. */
  private reopen(peer: Peer): void {
    if (!this.uris.size) return;
    setTimeout(() => {
      if (!this.uris.size || this.client?.open) return;
      this.watch(peer, false).then(
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

  private mark(uris: string[]): void {
    for (const uri of uris) if (this.uris.has(uri)) this.changed.add(uri);
    if (!this.changed.size || this.timer) return;
    this.timer = setTimeout(() => {
      this.timer = null;
      for (const uri of this.changed) this.updated(uri);
      this.changed.clear();
    }, gatherMs);
  }
}
