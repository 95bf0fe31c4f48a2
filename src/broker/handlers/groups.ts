// The request groups (protocol, semantics §9).
import { groupMembersMax, reservedHandles } from "../../protocol/constants.ts";
import { ProtocolError } from "../../protocol/errors.ts";
import type { Fields, GroupRecord } from "../../protocol/schemas.ts";
import { add, type Bus, type Conn, drop, type Group, type Peer, put, remove } from "../bus.ts";
import { findPeer, liveAlias, needPeer } from "../peers.ts";

/** Makes, lists and changes groups; answers the records that the action concerns. */
export function groups(bus: Bus, _conn: Conn, caller: Peer, f: Fields<"groups">): GroupRecord[] {
  if (f.action === "list") return (f.name === undefined ? [...bus.groups.values()] : [needGroup(bus, f.name)]).map(recordOf);
  if (f.name === undefined) throw new ProtocolError("bad_request", `name: ${f.action} needs the name of a group`);
  if (f.action === "create") return [recordOf(create(bus, caller, f.name, f.members ?? []))];
  const group = needGroup(bus, f.name);
  if (f.action === "delete") return [dissolve(bus, group)];
  if (!f.members?.length) throw new ProtocolError("bad_request", `members: ${f.action} needs at least one handle`);
  if (f.action === "add") join(bus, group, needMembers(bus, f.members));
  else leave(bus, group, f.members);
  return [recordOf(group)];
}

function recordOf(group: Group): GroupRecord {
  return {
    name: group.name,
    members: [...group.members].map((p) => p.handle),
    createdAt: group.createdAt,
    createdBy: group.createdBy.handle,
  };
}

function needGroup(bus: Bus, name: string): Group {
  const group = bus.groups.get(name);
  if (group) return group;
  throw new ProtocolError("unknown_group", `there is no group ${JSON.stringify(name)}`);
}

function needMembers(bus: Bus, handles: readonly string[]): Peer[] {
  return handles.map((handle) => {
    if (!findPeer(bus, handle) && bus.groups.has(handle))
      throw new ProtocolError("bad_request", `members: ${handle} is a group, and groups hold no groups`);
    return needPeer(bus, handle);
  });
}

function create(bus: Bus, caller: Peer, name: string, handles: readonly string[]): Group {
  const refuse = (why: string) => new ProtocolError("bad_request", `name: ${name} ${why}; choose another`);
  if (bus.groups.has(name)) throw refuse("is a group already");
  if (bus.peers.named(name) || liveAlias(bus, name)) throw refuse("is a peer's handle");
  if (reservedHandles.includes(name) || name === bus.ownerHandle) throw refuse("is reserved");
  const members = needMembers(bus, handles);
  checkSize(members.length);
  const id = bus.store.insertGroup(name, bus.now, caller.id);
  const group: Group = { id, name, members: new Set(), createdAt: bus.now, createdBy: caller };
  put(bus, bus.groups, name, group);
  join(bus, group, members);
  return group;
}

function checkSize(size: number): void {
  if (size > groupMembersMax)
    throw new ProtocolError("bad_request", `members: a group has at most ${groupMembersMax}, and this would be ${size}`);
}

function join(bus: Bus, group: Group, members: readonly Peer[]): void {
  checkSize(new Set([...group.members, ...members]).size);
  for (const peer of members) {
    bus.store.addMember(group.id, peer.id);
    add(bus, group.members, peer);
    add(bus, peer.groups, group);
  }
}

/** Removing who is no member, or is nobody, is no error. */
function leave(bus: Bus, group: Group, handles: readonly string[]): void {
  for (const handle of handles) {
    const peer = findPeer(bus, handle);
    if (!peer) continue;
    bus.store.removeMember(group.id, peer.id);
    remove(bus, group.members, peer);
    remove(bus, peer.groups, group);
  }
}

function dissolve(bus: Bus, group: Group): GroupRecord {
  const record = recordOf(group);
  for (const peer of group.members) remove(bus, peer.groups, group);
  bus.store.deleteGroup(group.id);
  drop(bus, bus.groups, group.name);
  return record;
}
