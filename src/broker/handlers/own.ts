// What a peer changes of its own: name, cancel, mute. renn's additions (docs/protocol.md).
import { ProtocolError } from "../../protocol/errors.ts";
import type { Fields, Result } from "../../protocol/schemas.ts";
import { type Bus, type Conn, drop, type Peer, put, set } from "../bus.ts";
import { countUnread } from "../delivery.ts";
import { needPeer, renamePeer, whyTaken } from "../peers.ts";
import { liveSession } from "../presence.ts";
import { nameSession } from "../sessions.ts";
import { withdrawn } from "../waits.ts";
import { mutedOf } from "./looking.ts";

/** The request `name`: a handle that the user chose for the caller's session, or for the session through which the owner speaks. */
export function name(bus: Bus, conn: Conn, caller: Peer, f: Fields<"name">): Result<"name"> {
  const peer = caller.owner ? conn.via : caller;
  if (!peer) throw new ProtocolError("bad_request", `the owner's handle is ${caller.handle}; config.json's "owner" changes it`);
  const why = whyTaken(bus, f.handle, peer);
  if (why) throw new ProtocolError("bad_request", `handle: ${f.handle} cannot be chosen: ${why}`);
  const session = liveSession(peer);
  if (!session && bus.peers.named(f.handle) && bus.peers.named(f.handle) !== peer)
    throw new ProtocolError("bad_request", `handle: ${f.handle} is another peer's`);
  if (!session) {
    renamePeer(bus, peer, f.handle);
    return { handle: f.handle };
  }
  if (f.handle !== peer.handle) nameSession(bus, session, f.handle);
  set(bus, session, "pinned", true);
  bus.store.setPinned(session.id);
  return { handle: session.peer.handle };
}

/** The request `cancel`: withdraws a message from those to whom it is still queued. */
export function cancel(bus: Bus, _conn: Conn, caller: Peer, f: Fields<"cancel">): Result<"cancel"> {
  const row = bus.store.message(f.messageId);
  if (!row || row.sender_id !== caller.id)
    throw new ProtocolError("unknown_message", `message ${f.messageId} is not one that ${caller.handle} sent`);
  const result: Result<"cancel"> = { cancelled: [], kept: [] };
  for (const d of bus.store.deliveries(row.id)) {
    const peer = bus.peers.get(d.peer_id);
    if (!peer) continue;
    // What was handed over once may have been seen, so it cannot be taken back any more.
    if (d.state !== 0 || d.attempts > 0) {
      result.kept.push(peer.handle);
      continue;
    }
    bus.store.deleteDelivery(row.id, peer.id);
    countUnread(bus, peer, -1);
    result.cancelled.push(peer.handle);
    withdrawn(bus, row, peer);
  }
  return result;
}

/** The request `mute`. */
export function mute(bus: Bus, _conn: Conn, caller: Peer, f: Fields<"mute">): Result<"mute"> {
  const muted = f.handle === undefined ? 0 : needPeer(bus, f.handle).id;
  if (muted === bus.owner.id) throw new ProtocolError("bad_request", `handle: the owner (${bus.ownerHandle}) cannot be muted`);
  caller.mutes ??= new Map(bus.store.mutes(caller.id).map((m) => [m.muted_id, m.until_at]));
  if (f.forMs === 0) {
    bus.store.deleteMute(caller.id, muted);
    drop(bus, caller.mutes, muted);
  } else {
    bus.store.putMute(caller.id, muted, bus.now + f.forMs);
    put(bus, caller.mutes, muted, bus.now + f.forMs);
  }
  return { muted: mutedOf(bus, caller) };
}
