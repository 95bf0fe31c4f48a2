// Peers that have nothing leave: at the request `prune`, and headless runs at their end (protocol, semantics §4).
import { type Bus, type Peer, undo } from "./bus.ts";
import { forgetPeer } from "./peers.ts";

/** Removes a peer that is not the owner and has no live session, message, delivery, group or connection. Whether it did. */
export function forgetIfBare(bus: Bus, peer: Peer): boolean {
  if (peer.owner || peer.session || peer.used || peer.groups.size || peer.conns.size || peer.waits.size) return false;
  for (const group of bus.groups.values()) if (group.createdBy === peer) return false;
  forgetPeer(bus, peer);
  const news = bus.news.get(peer);
  if (news) {
    bus.news.delete(peer);
    undo(bus, () => bus.news.set(peer, news));
  }
  return true;
}

/** The request `prune`: the handles of the deleted peers. */
export function prune(bus: Bus): { removed: string[] } {
  const removed: string[] = [];
  for (const id of bus.store.unusedPeers()) {
    const peer = bus.peers.get(id);
    if (peer && forgetIfBare(bus, peer)) removed.push(peer.handle);
  }
  return { removed };
}
