// Sessions: what a CLI's conversations do, which handle each has, how they end (semantics §4).
import { offlineGraceMs } from "../protocol/constants.ts";
import { ProtocolError } from "../protocol/errors.ts";
import type { Fields } from "../protocol/schemas.ts";
import { add, type Bus, type Conn, due, type Peer, put, type Session, set } from "./bus.ts";
import { pump } from "./delivery.ts";
import { bind, checkOwn, hostKey, sessionKey } from "./identity.ts";
import { mergePeers } from "./merge.ts";
import { automaticHandle, makePeer, renamePeer, titleHandle, touch, updatePeer, whyTaken } from "./peers.ts";
import type { SessionView } from "./ports.ts";
import { liveSession, tellPresence, viewOf } from "./presence.ts";
import { sessionWasActive } from "./proof.ts";
import { forgetIfBare } from "./prune.ts";
import { endByRequest, finish, giveBack, leave, takeOffHost } from "./session-ends.ts";
import type { SessionRow } from "./store/rows.ts";

type SessionFields = Fields<"session">;

/** The request `session`. */
export function session(bus: Bus, conn: Conn, f: SessionFields): { handle: string } {
  if (f.event === "session-end") return { handle: endByRequest(bus, conn, f).handle };
  const running = bus.sessions.get(sessionKey(f.client, f.cliSessionId)) ?? null;
  if (f.handle !== undefined) refuseTaken(bus, f.handle, running?.peer ?? null);
  if (f.native) refuseNative(bus, f);
  const known = running ?? revive(bus, f) ?? start(bus, f);
  const moved = known === running && (known.hostPid !== f.host.hostPid || known.hostStart !== String(f.host.hostStart));
  const runs = known === running && !moved && known.endDueAt === 0;
  set(bus, known, "endDueAt", 0);
  if (f.event === "session-start" && f.source !== "compact" && (moved || f.source === "resume")) giveBack(bus, known, "ended");
  endOthersOnHost(bus, known, f);
  learn(bus, known, f);
  setMood(bus, known, f, runs);
  if (f.native) set(bus, known, "native", f.native);
  bind(bus, conn, known.peer, null, f.listen || conn.kind === "adapter" ? "adapter" : "hook", f.listen);
  return { handle: known.peer.handle };
}

function refuseTaken(bus: Bus, handle: string, self: Peer | null): void {
  const why = whyTaken(bus, handle, self);
  if (why) throw new ProtocolError("bad_request", `handle: ${handle} cannot be chosen: ${why}`);
}

function refuseNative(bus: Bus, f: SessionFields): void {
  const view = { client: f.client, cliSessionId: f.cliSessionId, hostPid: f.host.hostPid, hostStart: String(f.host.hostStart) };
  const full = { ...view, transcriptPath: f.transcriptPath ?? null, cwd: f.cwd ?? null, native: f.native ?? null };
  const why = nativeFault(bus, full, f.native?.socketPath ?? "");
  if (why) throw new ProtocolError("native_failed", `native: ${why}`);
}

function nativeFault(bus: Bus, view: SessionView, socketPath: string): string | null {
  const native = bus.port.get(view.client)?.native;
  return native?.check ? native.check(view, socketPath) : `${view.client} sessions have no socket of their own`;
}

/** A session that the store knows and that does not live: it comes back under its handle. */
function revive(bus: Bus, f: SessionFields): Session | null {
  const row = bus.store.session(f.client, f.cliSessionId);
  const peer = row && bus.peers.get(row.peer_id);
  if (!row || !peer) return null;
  // The handle may meanwhile belong to another live session: then this is somebody new, unless that one is current in the same process.
  const holder = peer.session;
  if (holder && holder.cliSessionId !== f.cliSessionId && holder !== currentOnHost(bus, f)) return null;
  return enter(bus, peer, f, { pinned: row.pinned === 1, title: row.title });
}

/** A conversation that nobody knows: it takes over from the one that was current in its process (clear), or is somebody new. */
function start(bus: Bus, f: SessionFields): Session {
  const goesOn = f.source === undefined || f.source === "clear";
  const current = currentOnHost(bus, f);
  if (current && goesOn) {
    const { peer, pinned, title } = current;
    leave(bus, current);
    return enter(bus, peer, f, { pinned, title });
  }
  const left = !current && goesOn ? leftOnHost(bus, f) : null;
  if (left) return enter(bus, left.peer, f, { pinned: left.row.pinned === 1, title: left.row.title });
  const peer = chosenPeer(bus, f) ?? makePeer(bus, titleHandle(bus, f.title ?? "", null) ?? automaticHandle(bus, f.client, f.cwd), {});
  return enter(bus, peer, f, { pinned: f.handle !== undefined, title: null });
}

function chosenPeer(bus: Bus, f: SessionFields): Peer | null {
  if (f.handle === undefined) return null;
  return bus.peers.named(f.handle) ?? makePeer(bus, f.handle, {});
}

/** The session that is current in a process whose CLI holds one conversation at a time. */
function currentOnHost(bus: Bus, f: SessionFields): Session | null {
  if (bus.port.get(f.client)?.conversations !== "one") return null;
  const here = bus.byHost.get(hostKey(f.host.hostPid, f.host.hostStart));
  let current: Session | null = null;
  for (const s of here ?? []) if (s.client === f.client && (!current || s.id > current.id)) current = s;
  return current;
}

/** The conversation that was current in such a process and has said goodbye, when its handle is free: a slow clear. */
function leftOnHost(bus: Bus, f: SessionFields): { peer: Peer; row: SessionRow } | null {
  if (bus.port.get(f.client)?.conversations !== "one") return null;
  const row = bus.store.latestOnHost(f.client, f.host.hostPid, String(f.host.hostStart), bus.boot);
  const peer = row && bus.peers.get(row.peer_id);
  return row && peer && !peer.session ? { peer, row } : null;
}

/** What a session starts with that no CLI tells and no store keeps. */
export function freshMood(
  bus: Bus,
): Pick<
  Session,
  "native" | "nativeOffUntil" | "tools" | "subagents" | "busy" | "lastEventAt" | "endDueAt" | "continued" | "stopGiven" | "tail"
> {
  return {
    native: null,
    nativeOffUntil: 0,
    tools: false,
    subagents: 0,
    busy: false,
    lastEventAt: bus.mono,
    endDueAt: 0,
    continued: false,
    stopGiven: new Set(),
    tail: null,
  };
}

/** Makes a session live under a peer. */
function enter(bus: Bus, peer: Peer, f: SessionFields, kept: { pinned: boolean; title: string | null }): Session {
  if (peer.session) leave(bus, peer.session);
  const live: Session = {
    id: 0,
    peer,
    client: f.client,
    cliSessionId: f.cliSessionId,
    hostPid: f.host.hostPid,
    hostStart: String(f.host.hostStart),
    transcriptPath: f.transcriptPath ?? null,
    title: kept.title,
    cwd: f.cwd ?? null,
    pinned: kept.pinned,
    headless: f.headless ?? false,
    bypass: f.bypass ?? false,
    ...freshMood(bus),
  };
  live.id = save(bus, live);
  place(bus, live);
  bus.log("info", "session-lives", { handle: peer.handle, client: f.client, source: f.source ?? null, hostPid: f.host.hostPid });
  return live;
}

function save(bus: Bus, s: Session): number {
  const row: Omit<SessionRow, "id" | "ended_at"> = {
    peer_id: s.peer.id,
    client: s.client,
    cli_session_id: s.cliSessionId,
    host_pid: s.hostPid,
    host_start: s.hostStart,
    host_boot: bus.boot,
    transcript_path: s.transcriptPath,
    title: s.title,
    cwd: s.cwd,
    pinned: s.pinned ? 1 : 0,
    headless: s.headless ? 1 : 0,
    bypass: s.bypass ? 1 : 0,
  };
  return bus.store.putSession(row, bus.now);
}

/** Puts a session where it is found: by its id, by its process, by its peer. */
export function place(bus: Bus, s: Session): void {
  put(bus, bus.sessions, sessionKey(s.client, s.cliSessionId), s);
  set(bus, s.peer, "session", s);
  if (s.peer.lastEnd !== 0) {
    set(bus, s.peer, "lastEnd", 0);
    bus.store.setLastEnd(s.peer.id, 0);
  }
  putOnHost(bus, s);
  bus.nextHostCheckAt = Math.min(bus.nextHostCheckAt, bus.mono + offlineGraceMs);
  due(bus, bus.nextHostCheckAt);
}

function putOnHost(bus: Bus, s: Session): void {
  const key = hostKey(s.hostPid, s.hostStart);
  let here = bus.byHost.get(key);
  if (!here) {
    here = new Set();
    put(bus, bus.byHost, key, here);
  }
  add(bus, here, s);
}

/** On a host with one conversation at a time, the one that spoke last is current and ends the others. */
function endOthersOnHost(bus: Bus, s: Session, f: SessionFields): void {
  if (bus.port.get(f.client)?.conversations !== "one") return;
  for (const other of [...(bus.byHost.get(hostKey(f.host.hostPid, f.host.hostStart)) ?? [])])
    if (other !== s && other.client === s.client) finish(bus, other, 1);
}

/** Takes over what the CLI says of its session: process, transcript, folder, title, handle. */
function learn(bus: Bus, s: Session, f: SessionFields): void {
  const start = String(f.host.hostStart);
  let changed = false;
  if (s.hostPid !== f.host.hostPid || s.hostStart !== start) {
    takeOffHost(bus, s);
    set(bus, s, "hostPid", f.host.hostPid);
    set(bus, s, "hostStart", start);
    set(bus, s, "native", null);
    putOnHost(bus, s);
    changed = true;
  }
  for (const key of ["transcriptPath", "cwd", "headless", "bypass"] as const) {
    const value = f[key];
    if (value === undefined || s[key] === value) continue;
    set(bus, s, key, value as never);
    changed = true;
  }
  if (takeHandle(bus, s, f.handle)) changed = true;
  if (takeTitle(bus, s, f.title)) changed = true;
  if (changed || s.peer.lastEnd !== 0) save(bus, s);
  if (s.peer.lastEnd !== 0) {
    set(bus, s.peer, "lastEnd", 0);
    bus.store.setLastEnd(s.peer.id, 0);
  }
  updatePeer(bus, s.peer, {
    client: f.client,
    ...(f.cwd === undefined ? {} : { cwd: f.cwd }),
    ...(f.version === undefined ? {} : { version: f.version }),
  });
}

/** A handle that the user chose: pinned. Where a peer without session has it, the session becomes that peer. */
function takeHandle(bus: Bus, s: Session, handle: string | undefined): boolean {
  if (handle === undefined) return false;
  const change = handle !== s.peer.handle;
  if (change) nameSession(bus, s, handle);
  if (s.pinned && !change) return false;
  set(bus, s, "pinned", true);
  return true;
}

/** Gives a session the handle, which nobody else may hold live. */
export function nameSession(bus: Bus, s: Session, handle: string): void {
  const holder = bus.peers.named(handle);
  if (!holder) return renamePeer(bus, s.peer, handle);
  if (forgetIfBare(bus, holder)) return renamePeer(bus, s.peer, handle);
  moveToPeer(bus, s, holder);
}

/** The session becomes another peer, with everything that it was before. */
function moveToPeer(bus: Bus, s: Session, target: Peer): void {
  const from = s.peer;
  if (target.session) leave(bus, target.session);
  giveBack(bus, s, "ended");
  set(bus, from, "session", null);
  set(bus, s, "peer", target);
  set(bus, target, "session", s);
  mergePeers(bus, from, target);
  save(bus, s);
  pump(bus, target);
}

/** The name that the user gave the session: its display, and its handle while that is automatic and the slug is free. */
function takeTitle(bus: Bus, s: Session, title: string | undefined): boolean {
  if (title === undefined || title === s.title || !title.trim()) return false;
  set(bus, s, "title", title);
  updatePeer(bus, s.peer, { display: title });
  const handle = s.pinned ? null : titleHandle(bus, title, s.peer);
  if (handle) renamePeer(bus, s.peer, handle);
  return true;
}

function setMood(bus: Bus, s: Session, f: SessionFields, same: boolean): void {
  sessionWasActive(bus, s);
  touch(bus, s.peer);
  if (f.event === "prompt") {
    set(bus, s, "busy", true);
    set(bus, s, "continued", false);
  }
  if (f.event === "stop" || (f.event === "session-start" && !same)) set(bus, s, "busy", false);
  if (f.event === "session-start") set(bus, s, "nativeOffUntil", 0);
  tellPresence(bus, s.peer);
}

/** The request `native-register`. */
export function nativeRegister(bus: Bus, peer: Peer, f: Fields<"native-register">): Record<string, never> {
  checkOwn(bus, peer, f.handle);
  const s = liveSession(peer);
  if (!s) throw new ProtocolError("native_failed", "this connection's peer has no live session that could be woken");
  const why = nativeFault(bus, viewOf(s), f.socketPath);
  if (why) throw new ProtocolError("native_failed", `socketPath: ${why}`);
  set(bus, s, "native", { socketPath: f.socketPath, token: f.token });
  set(bus, s, "nativeOffUntil", 0);
  pump(bus, s.peer);
  return {};
}
