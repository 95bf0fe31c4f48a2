// What a broker takes from the store at its start: the owner, groups, aliases, live sessions, hand-overs, the windows (semantics §5, §7).
import type { ClientName } from "../protocol/constants.ts";
import type { Bus, Group, Session } from "./bus.ts";
import { rememberHandout } from "./delivery.ts";
import { recipientIds, verdictWord } from "./messages.ts";
import { makePeer, renamePeer } from "./peers.ts";
import { tellPresence } from "./presence.ts";
import { hostLives } from "./session-ends.ts";
import { freshMood, place } from "./sessions.ts";
import type { SessionRow } from "./store/rows.ts";
import { provesByHook, resumeTail } from "./tails.ts";
import { countSend, replyKey, sendKey } from "./windows.ts";

/** Fills an empty bus from its store. */
export function load(bus: Bus): void {
  for (const row of bus.store.aliases()) {
    const peer = bus.peers.get(row.peer_id);
    if (peer && row.until_at > bus.now) bus.aliases.set(row.handle, { peer, untilAt: row.until_at });
    else bus.store.deleteAlias(row.handle);
  }
  loadOwner(bus);
  loadGroups(bus);
  for (const row of bus.store.liveSessions()) loadSession(bus, row);
  const ids = bus.store.nextIds();
  bus.nextMessageId = ids.message;
  bus.nextThreadId = ids.thread;
  loadHandouts(bus);
  loadWindows(bus);
  for (const peer of new Set([bus.owner, ...[...bus.sessions.values()].map((session) => session.peer)])) tellPresence(bus, peer);
}

/** The owner's peer. Where the config names another owner, the old one is renamed with all it has, or where the name is a peer's, hands the part over. */
function loadOwner(bus: Bus): void {
  const owners = bus.store.owners().flatMap((id) => bus.peers.get(id) ?? []);
  if (owners[0] && !bus.peers.named(bus.ownerHandle)) renamePeer(bus, owners[0], bus.ownerHandle);
  const wanted = bus.peers.named(bus.ownerHandle);
  for (const peer of owners) {
    if (peer === wanted) continue;
    peer.owner = false;
    bus.store.setOwner(peer.id, false);
  }
  if (wanted && !wanted.owner) {
    wanted.owner = true;
    bus.store.setOwner(wanted.id, true);
  }
  bus.owner = wanted ?? makePeer(bus, bus.ownerHandle, {}, true);
}

function loadGroups(bus: Bus): void {
  const byId = new Map<number, Group>();
  for (const row of bus.store.groups()) {
    const group: Group = {
      id: row.id,
      name: row.name,
      members: new Set(),
      createdAt: row.created_at,
      createdBy: bus.peers.get(row.created_by) ?? bus.owner,
    };
    byId.set(row.id, group);
    bus.groups.set(row.name, group);
  }
  for (const row of bus.store.groupMembers()) {
    const group = byId.get(row.group_id);
    const peer = bus.peers.get(row.peer_id);
    if (!group || !peer) continue;
    group.members.add(peer);
    peer.groups.add(group);
  }
}

/** A session that lived when the last broker stopped lives on if its process does, in this boot of the machine. */
function loadSession(bus: Bus, row: SessionRow): void {
  const peer = bus.peers.get(row.peer_id);
  const lives = peer && row.host_boot === bus.boot && hostLives(bus, { hostPid: row.host_pid, hostStart: row.host_start });
  if (!peer || !lives) {
    bus.store.endSession(row.id, bus.now);
    if (peer) {
      peer.lastEnd = 2;
      bus.store.setLastEnd(peer.id, 2);
    }
    return;
  }
  const session: Session = {
    id: row.id,
    peer,
    client: row.client as ClientName,
    cliSessionId: row.cli_session_id,
    hostPid: row.host_pid,
    hostStart: row.host_start,
    transcriptPath: row.transcript_path,
    title: row.title,
    cwd: row.cwd,
    pinned: row.pinned === 1,
    headless: row.headless === 1,
    bypass: row.bypass === 1,
    ...freshMood(bus),
  };
  place(bus, session);
}

/** `sent` over connections goes back to queued; what hooks and natives took gets a fresh window, unless its session is gone. */
function loadHandouts(bus: Bus): void {
  for (const row of bus.store.sentDeliveries()) {
    const peer = bus.peers.get(row.peer_id);
    if (!peer) continue;
    const session = peer.session;
    if ((row.channel === "hook" || row.channel === "native") && (session || provesByHook(bus, session))) {
      if (session) resumeTail(bus, session, row.mark);
      rememberHandout(bus, peer, row.message_id, row.thread_id, row.channel, null, row.state_at);
      continue;
    }
    if (session) resumeTail(bus, session, row.mark);
    bus.store.addHistory(row.message_id, row.peer_id, JSON.stringify([row.channel, row.state_at, "restart", bus.now]));
    bus.store.requeue(row.message_id, row.peer_id, bus.now, false);
  }
}

/** Rate and duplicate windows of the last minute, so that a restart opens no gap. */
function loadWindows(bus: Bus): void {
  const span = Math.max(bus.limits.sendWindowMs, bus.limits.duplicateWindowMs);
  const recent = [];
  for (let id = bus.nextMessageId - 1; id > 0 && recent.length < 10_000; id--) {
    const row = bus.store.fullMessage(id);
    if (row && (row.at <= bus.now - span || row.at > bus.now)) break;
    if (row) recent.push(row);
  }
  for (const row of recent.reverse()) {
    const sender = bus.peers.get(row.sender_id);
    if (!sender) continue;
    const key =
      row.reply_to === null
        ? sendKey(sender.id, row.seq === 1 ? null : row.thread_id, recipientIds(row), row.body)
        : replyKey(sender.id, row.reply_to, verdictWord(row.verdict), row.body);
    countSend(bus, sender, key, row.id, bus.mono - (bus.now - row.at));
  }
}
