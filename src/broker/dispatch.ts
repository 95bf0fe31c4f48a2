// One request to its handler and back to one answer line. What may be asked before a connection is a peer stands here too.
import { ProtocolError } from "../protocol/errors.ts";
import { errorLine, okLine } from "../protocol/frames.ts";
import type { Fields, RequestType } from "../protocol/schemas.ts";
import { type Bus, type Conn, type Peer, type QueuedLine, set, stage } from "./bus.ts";
import { groups } from "./handlers/groups.ts";
import { fetchPush, hook } from "./handlers/hook.ts";
import { exportMessages, search, stats, status, threads, watch, whoami, why } from "./handlers/looking.ts";
import { cancel, mute, name } from "./handlers/own.ts";
import { ack, collect, delivered, inbox, read, thread } from "./handlers/reading.ts";
import { reply, send } from "./handlers/send.ts";
import { register } from "./identity.ts";
import { touch } from "./peers.ts";
import { prune } from "./prune.ts";
import { nativeRegister, session } from "./sessions.ts";
import { BadLine, checkFields, envelope, parseLine, type Request } from "./validate.ts";
import { startWait } from "./waits.ts";

/** Requests that any authenticated connection may make. */
const open: { [T in RequestType]?: (bus: Bus, conn: Conn, fields: Fields<T>) => unknown } = {
  register,
  session,
  hook,
  status: (bus, _conn, f) => status(bus, f),
  stats: (bus) => stats(bus),
};

/** Requests that only a connection which is a peer may make. */
const bound: { [T in RequestType]?: (bus: Bus, conn: Conn, peer: Peer, fields: Fields<T>) => unknown } = {
  delivered,
  send,
  reply,
  ack,
  read,
  inbox,
  thread,
  collect,
  groups,
  prune: (bus) => prune(bus),
  "native-register": (bus, _conn, peer, f) => nativeRegister(bus, peer, f),
  "fetch-push": fetchPush,
  threads,
  search,
  export: exportMessages,
  watch,
  whoami: (bus, conn, peer) => whoami(bus, conn, peer),
  name,
  cancel,
  mute,
  why,
};

/** Requests whose ok means that it is on the disk (semantics §10). A session that names a handle or a title may rename. */
const durableTypes = new Set<RequestType>(["send", "reply", "ack", "delivered", "groups", "register", "prune", "name", "cancel", "mute"]);

/**
 * What follows these on a connection waits for the next turn: how a wait ends decides about it, and the answers of the others may be so large that the
 * reader must have taken one before the next is made.
 */
export const lastOfTurn: ReadonlySet<RequestType> = new Set([
  "wait",
  "thread",
  "read",
  "inbox",
  "export",
  "search",
  "threads",
  "status",
  "fetch-push",
  "groups",
  "collect",
  "why",
]);

/** A line of a turn, as far as it could be read before the turn began. `badAuth`: it is no request, but wants to be auth. */
export type Line = { conn: Conn; request: Request | null; bad: BadLine | null; badAuth: boolean; tooLong: boolean };

/** Reads a line as far as its envelope; nothing is decided yet. */
export function readLine(conn: Conn, text: QueuedLine): Line {
  if (text === null) return { conn, request: null, bad: null, badAuth: false, tooLong: true };
  let isAuth = false;
  try {
    const line = parseLine(text);
    isAuth = line.type === "auth";
    return { conn, request: envelope(line), bad: null, badAuth: false, tooLong: false };
  } catch (error) {
    if (error instanceof BadLine) return { conn, request: null, bad: error, badAuth: isAuth, tooLong: false };
    throw error;
  }
}

/** Whether a line's commit must wait for the disk. */
export function isDurable(line: Line): boolean {
  const { request } = line;
  if (!request) return false;
  if (request.type === "session") return request.fields.handle !== undefined || request.fields.title !== undefined;
  return durableTypes.has(request.type);
}

/** Handles one line: stages its answer, or starts a wait. Anything thrown is not the other side's fault. */
export function handleLine(bus: Bus, line: Line): void {
  const { conn, request } = line;
  if (conn.closing || conn.closed) return;
  if (line.tooLong)
    return refuseAndClose(
      bus,
      conn,
      null,
      new ProtocolError("bad_request", "the line is longer than 1048576 bytes; the connection is closed"),
    );
  if (!conn.authed && request?.type !== "auth") {
    const id = request?.id ?? line.bad?.id ?? null;
    if (line.bad && line.badAuth && id !== null) return stage(bus, conn, errorLine(id, "bad_request", line.bad.message));
    return stage(bus, conn, errorLine(id, "auth_required", "the first line must be auth with the token of this home (the file `token`)"));
  }
  if (!request) return stage(bus, conn, errorLine(line.bad?.id ?? null, "bad_request", line.bad?.message ?? "the line is no request"));
  try {
    answer(bus, conn, request);
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    if (error.code === "bad_token") return refuseAndClose(bus, conn, request.id, error);
    stage(bus, conn, errorLine(request.id, error.code, error.message, error.data));
  }
}

function refuseAndClose(bus: Bus, conn: Conn, id: number | null, error: ProtocolError): void {
  stage(bus, conn, errorLine(id, error.code, error.message, error.data));
  set(bus, conn, "closing", true);
}

function answer(bus: Bus, conn: Conn, request: Request): void {
  checkFields(request);
  const { id, type, fields } = request;
  if (type === "auth") return authenticate(bus, conn, id, fields.token as string);
  const free = open[type] as ((bus: Bus, conn: Conn, fields: unknown) => unknown) | undefined;
  if (free) return stage(bus, conn, okLine(id, JSON.stringify(free(bus, conn, fields))));
  const { peer } = conn;
  if (!peer) throw new ProtocolError("bad_request", `${type}: this connection is no peer yet: send register or session first`);
  touch(bus, peer);
  if (type === "wait") return startWait(bus, conn, peer, id, fields as Fields<"wait">);
  const handler = bound[type] as (bus: Bus, conn: Conn, peer: Peer, fields: unknown) => unknown;
  stage(bus, conn, okLine(id, JSON.stringify(handler(bus, conn, peer, fields))));
}

function authenticate(bus: Bus, conn: Conn, id: number, token: string): void {
  if (!sameText(token, bus.token()))
    throw new ProtocolError("bad_token", "the token is not this broker's; read it anew from the file `token` of the home");
  set(bus, conn, "authed", true);
  stage(bus, conn, okLine(id, "{}"));
}

/** Compares in a time that does not depend on where the texts differ. */
function sameText(a: string, b: string): boolean {
  let different = a.length ^ b.length;
  for (let i = 0; i < b.length; i++) different |= (a.charCodeAt(i % (a.length || 1)) || 0) ^ b.charCodeAt(i);
  return different === 0 && b.length > 0;
}
