// One exchange with the broker: every line in one write, answers until the last one.
import { asObject, type Payload, parseObject } from "../../clis/payload.ts";
import type { HomePaths } from "../../home.ts";
import { requestLine } from "../../protocol/frames.ts";

/** No broker listens on the socket (as opposed to one that refuses or a socket that may not be used). */
export class BrokerAway extends Error {}

/** Longest path that a socket may have everywhere, in bytes. */
const socketPathBytesMax = 103;
/** More than any hook answer. */
const answerCharactersMax = 4 * 1_048_576;

/** Where to connect and what to say first. */
export type Door = { path: string; token: string };

/** Finds socket and token. Throws BrokerAway where there is none, or an error where it may not be used. */
export async function findDoor(paths: HomePaths): Promise<Door> {
  const [path, token] = await Promise.all([socketPath(paths), readToken(paths)]);
  return { path, token };
}

/** Sends auth and `lines`; the result of the last. Throws BrokerAway, or an error that says what is wrong. */
export async function askBroker({ path, token }: Door, lines: string[]): Promise<Payload | null> {
  const answer = await exchange(path, requestLine(1, "auth", { token }) + lines.join(""), lines.length + 1);
  if (answer.ok !== true) {
    const error = asObject(answer.error);
    throw new Error(`the broker refused: ${String(error?.code)}: ${String(error?.message).slice(0, 300)}`);
  }
  return asObject(answer.result);
}

async function readToken(paths: HomePaths): Promise<string> {
  try {
    const file = Bun.file(paths.token);
    // A pipe would block for ever.
    return (await file.stat()).isFile() ? (await file.text()).trim() : "";
  } catch {
    throw new BrokerAway("there is no token yet");
  }
}

/** The path to connect to, once home and socket are known to be our user's alone: the token is for nobody else. */
async function socketPath(paths: HomePaths): Promise<string> {
  if (new TextEncoder().encode(paths.socket).length > socketPathBytesMax) {
    const path = (await import("../../client/place.ts")).socketPath(paths);
    if (path === null) throw new BrokerAway("there is no socket");
    return path;
  }
  const [home, socket] = await Promise.all([stat(paths.home), stat(paths.socket)]);
  const uid = process.getuid?.();
  if (home.uid !== uid || (home.mode & 0o077) !== 0) throw new Error(`${paths.home} is not this user's alone: chmod 700 it`);
  if (!socket.isSocket() || socket.uid !== uid) throw new Error(`${paths.socket} is no socket of this user`);
  return paths.socket;
}

async function stat(path: string) {
  try {
    return await Bun.file(path).stat();
  } catch (error) {
    throw unreachable(error);
  }
}

function unreachable(error: unknown): Error {
  const code = (error as { code?: string }).code ?? String(error);
  if (code === "ENOENT" || code === "ECONNREFUSED" || code === "ENOTDIR") return new BrokerAway(`no broker: ${code}`);
  if (code === "EPERM" || code === "EACCES") return new Error("a sandbox keeps this hook from the bus");
  return new Error(`cannot connect: ${code}`);
}

function exchange(path: string, request: string, lastId: number): Promise<Payload> {
  const { promise, resolve, reject } = Promise.withResolvers<Payload>();
  const decoder = new TextDecoder();
  let unsent = new TextEncoder().encode(request);
  let text = "";
  const flush = (socket: { write(bytes: Uint8Array): number }) => {
    unsent = unsent.subarray(Math.max(0, socket.write(unsent)));
  };
  const take = (bytes: Uint8Array) => {
    text += decoder.decode(bytes, { stream: true });
    if (text.length > answerCharactersMax) return reject(new Error("the answer is too long"));
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n")) {
      const frame = parseObject(text.slice(0, end));
      text = text.slice(end + 1);
      // A refused line may stand for all: without a binding the next one fails only for that.
      if (frame && (frame.ok === false || frame.id === lastId)) return resolve(frame);
    }
  };
  Bun.connect({
    unix: path,
    socket: {
      open: flush,
      drain: flush,
      data: (_socket, bytes) => take(bytes),
      close: () => reject(new Error("the broker closed the connection")),
      error: (_socket, error) => reject(error),
      connectError: (_socket, error) => reject(unreachable(error)),
    },
  }).catch((error) => reject(unreachable(error)));
  return promise;
}
