// Whom a send is for: handles, groups and @all, as one set (semantics §5).
import { ProtocolError } from "../../protocol/errors.ts";
import type { Bus, Peer } from "../bus.ts";
import { findPeer, needPeer } from "../peers.ts";
import { isHere } from "../presence.ts";

/** All recipients in the sender's order, each once, and those of them that were named one by one. */
export type Recipients = { all: Peer[]; named: readonly Peer[] };

/**
 * `@name` is a group for sure, `@all` everybody who is here; a bare name is a handle, then a group. The sender is dropped always, the acting via from
 * what groups and @all bring. Throws unknown_handle, unknown_group, or bad_request when nobody is left.
 */
export function resolveRecipients(bus: Bus, sender: Peer, via: Peer | null, to: readonly string[]): Recipients {
  const only = to.length === 1 ? bus.peers.byHandle.get(to[0] ?? "") : undefined;
  if (only && only !== sender) return { all: [only], named: [only] };
  const all = new Set<Peer>();
  const named: Peer[] = [];
  for (const name of to) {
    const members = name === "@all" ? everybody(bus) : groupMembers(bus, name);
    if (members) {
      for (const peer of members) if (peer !== sender && peer !== via) all.add(peer);
      continue;
    }
    const peer = needPeer(bus, name);
    if (peer === sender) continue;
    all.add(peer);
    named.push(peer);
  }
  if (!all.size) throw new ProtocolError("bad_request", nobodyLeft(to));
  return { all: [...all], named };
}

function nobodyLeft(to: readonly string[]): string {
  if (to.length === 1 && to[0] === "@all") return "nobody else is on the bus now";
  const names = to.slice(0, 5).join(", ") + (to.length > 5 ? ", …" : "");
  return `nobody is left to send to in ${names}: the sender gets no message of its own`;
}

function groupMembers(bus: Bus, name: string): Iterable<Peer> | null {
  if (name.startsWith("@")) {
    const group = bus.groups.get(name.slice(1));
    if (!group) throw new ProtocolError("unknown_group", `there is no group ${JSON.stringify(name.slice(1))}`);
    return group.members;
  }
  return findPeer(bus, name) ? null : (bus.groups.get(name)?.members ?? null);
}

/** Every peer that is not offline or presumed-offline, headless runs left out, the owner in. */
function everybody(bus: Bus): Peer[] {
  return [...new Set([bus.owner, ...bus.present])].filter((peer) => isHere(bus, peer) && !peer.session?.headless);
}
