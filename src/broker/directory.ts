// Peers by id and by handle. A home keeps every name that ever spoke: a peer is read from the store when it is first asked for, so that neither a
// start nor memory grows with all of them.
import type { ClientName } from "../protocol/constants.ts";
import type { Peer, PeerId } from "./bus.ts";
import type { PeerRow } from "./store/rows.ts";
import type { Store } from "./store/store.ts";

/** A peer as it comes from the store. */
export function peerFromRow(row: PeerRow): Peer {
  return {
    id: row.id,
    handle: row.handle,
    display: row.display,
    role: row.role,
    client: row.client as ClientName | null,
    cwd: row.cwd,
    version: row.version,
    owner: row.owner === 1,
    used: row.used === 1,
    lastSeenAt: row.last_seen_at,
    session: null,
    lastEnd: row.last_end as 0 | 1 | 2,
    endedAt: Number.NEGATIVE_INFINITY,
    conns: new Set(),
    graceUntil: 0,
    unread: -1,
    mayHaveQueued: true,
    handouts: new Map(),
    waits: new Set(),
    groups: new Set(),
    mutes: null,
    told: "",
  };
}

/** All peers. `byId` and `byHandle` hold those that were asked for; whoever makes, renames or removes a peer keeps both as the store is. */
export class Directory {
  readonly byId: Map<PeerId, Peer> = new Map();
  readonly byHandle: Map<string, Peer> = new Map();
  private readonly store: Store;

  constructor(store: Store) {
    this.store = store;
  }

  /** The peer with this id. */
  get(id: PeerId): Peer | undefined {
    return this.byId.get(id) ?? this.keep(this.store.peer(id));
  }

  /** The peer that has this handle now; aliases are not looked at. */
  named(handle: string): Peer | undefined {
    return this.byHandle.get(handle) ?? this.keep(this.store.peerNamed(handle));
  }

  /** Every peer that there is, in the order of their ids. */
  all(): Peer[] {
    return this.store.peers().map((row) => this.byId.get(row.id) ?? (this.keep(row) as Peer));
  }

  private keep(row: PeerRow | null): Peer | undefined {
    if (!row) return undefined;
    const peer = peerFromRow(row);
    this.byId.set(peer.id, peer);
    this.byHandle.set(peer.handle, peer);
    return peer;
  }
}
