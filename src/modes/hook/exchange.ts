// One exchange with the broker: every line in one write, answers until the last one.
import { asObject, type Payload, parseObject } from "../../clis/payload.ts";
import type { HomePaths } from "../../home.ts";
import { requestLine } from "../../protocol/frames.ts";
import { CallError, closeFile, connectUnix, type Limit, readFile, readSome, statFile, writeAll } from "./calls.ts";

/** No broker listens on the socket (as opposed to one that refuses or a socket that may not be used). */
export class BrokerAway extends Error {}

/** Longest path that a socket may have everywhere, in bytes. */
const socketPathBytesMax = 103;
/** More than any hook answer. */
const answerCharactersMax = 4 * 1_048_576;
const answerRoomBytes = 4096;
const [typeMask, socketType] = [0o170000, 0o140000];

/** A connection to the broker, and what to say first. */
export type Door = { fd: number; token: string };
/** The path to connect to, once it is known to be safe; null where there is none. */
type SocketFinder = (paths: HomePaths) => string | null;

/** Whether the home's own path is too long for a socket, which then lies elsewhere (client/place.ts finds it). */
export function isFar(paths: HomePaths): boolean {
  return new TextEncoder().encode(paths.socket).length > socketPathBytesMax;
}

/** The home's own socket. Throws an error where it or the home is not our user's alone: the token is for nobody else. */
export function nearSocket(paths: HomePaths): string {
  const [home, socket, uid] = [statFile(paths.home), statFile(paths.socket), process.getuid?.()];
  if (home.uid !== uid || (home.mode & 0o077) !== 0) throw new Error(`${paths.home} is not this user's alone: chmod 700 it`);
  if ((socket.mode & typeMask) !== socketType || socket.uid !== uid) throw new Error(`${paths.socket} is no socket of this user`);
  return paths.socket;
}

/** Connects; where that fails, why: a BrokerAway where nobody listens, else an error that says why the socket may not be used. */
export function openDoor(paths: HomePaths, find: SocketFinder): Door | Error {
  try {
    const path = find(paths);
    if (path === null) return new BrokerAway("there is no socket");
    const token = readFile(paths.token).trim();
    return { fd: connectUnix(path), token };
  } catch (error) {
    return error instanceof CallError ? unreachable(error.code) : (error as Error);
  }
}

function unreachable(code: string): Error {
  if (code === "ENOENT" || code === "ECONNREFUSED" || code === "ENOTDIR") return new BrokerAway(`no broker: ${code}`);
  if (code === "EPERM" || code === "EACCES") return new Error("a sandbox keeps this hook from the bus");
  return new Error(`cannot connect: ${code}`);
}

/** Sends auth and `lines`, and closes the door; the result of the last. Throws what kept the door shut, or an error that says what is wrong. */
export function askBroker(door: Door | Error, lines: string[], limit: Limit): Payload | null {
  if (door instanceof Error) throw door;
  const { fd, token } = door;
  try {
    writeAll(fd, requestLine(1, "auth", { token }) + lines.join(""), limit);
    const answer = readAnswer(fd, lines.length + 1, limit);
    if (answer.ok === true) return asObject(answer.result);
    const error = asObject(answer.error);
    throw new Error(`the broker refused: ${String(error?.code)}: ${String(error?.message).slice(0, 300)}`);
  } finally {
    closeFile(fd);
  }
}

function readAnswer(fd: number, lastId: number, limit: Limit): Payload {
  const decoder = new TextDecoder();
  const bytes = new Uint8Array(answerRoomBytes);
  for (let text = ""; text.length <= answerCharactersMax; ) {
    const got = readSome(fd, bytes, limit);
    if (got === 0) throw new Error("the broker closed the connection");
    text += decoder.decode(bytes.subarray(0, got), { stream: true });
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n")) {
      const frame = parseObject(text.slice(0, end));
      text = text.slice(end + 1);
      // A refused line may stand for all: without a binding the next one fails only for that.
      if (frame && (frame.ok === false || frame.id === lastId)) return frame;
    }
  }
  throw new Error("the answer is too long");
}
