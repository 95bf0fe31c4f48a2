// Where the broker listens and whether it is safe to send the token there (semantics §1).
import { existsSync, lstatSync, readdirSync, readlinkSync, type Stats, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { HomePaths } from "../home.ts";
import { ProtocolError } from "../protocol/errors.ts";

/** Whether this process runs in a CLI's sandbox that forbids sockets, as far as the environment says. */
export function sandboxed(env: Record<string, string | undefined> = process.env): boolean {
  return Object.keys(env).some((name) => name.startsWith("CODEX_SANDBOX"));
}

/** What somebody in a sandbox is told (case 30). */
export function sandboxError(): ProtocolError {
  return new ProtocolError(
    "broker_down",
    "a sandbox keeps this process from the bus: use the renn tools (MCP server `renn`: send, inbox, reply, …) or run outside the sandbox",
    { sandbox: true },
  );
}

function statOrNull(path: string, follow: boolean): Stats | null {
  try {
    return follow ? statSync(path) : lstatSync(path);
  } catch (error) {
    const code = (error as { code?: string }).code;
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    if (code !== "EACCES" && code !== "EPERM") throw error;
    if (sandboxed()) throw sandboxError();
    throw new ProtocolError(
      "broker_down",
      `${path} may not be looked at (${code}), it is another user's: set RENN_HOME to a folder of your own`,
    );
  }
}

const quoted = (path: string) => `'${path.replaceAll("'", "'\\''")}'`;

/** Only a folder that is renn's own is worth a chmod: of any other one, /etc say, that would be bad advice. */
function checkPrivateFolder(path: string, stats: Stats, isOwn = () => true): void {
  const uid = process.getuid?.();
  if (!stats.isDirectory()) throw new ProtocolError("broker_down", `${path} is no folder`);
  if (stats.uid !== uid)
    throw new ProtocolError("broker_down", `${path} belongs to another user (uid ${stats.uid}): set RENN_HOME to a folder of your own`);
  if ((stats.mode & 0o077) === 0) return;
  if (!isOwn())
    throw new ProtocolError("broker_down", `${path} is open to other users, and no home of renn: set RENN_HOME to a new folder`);
  throw new ProtocolError("broker_down", `${path} is open to other users; mend it with: chmod 700 ${quoted(path)}`);
}

/**
 * The path to connect to: the home's socket, or what its link names where the home's own path is too long for a socket.
 * Null when there is no socket. Refuses (`broker_down`) a home, folder or socket that is not our user's alone.
 */
export function socketPath(paths: HomePaths): string | null {
  const home = statOrNull(paths.home, true);
  if (!home) return null;
  checkPrivateFolder(paths.home, home, () => existsSync(paths.token) || !readdirSync(paths.home).length);
  const link = statOrNull(paths.socket, false);
  if (!link) return null;
  const path = link.isSymbolicLink() ? resolve(paths.home, readlinkSync(paths.socket)) : paths.socket;
  const stats = link.isSymbolicLink() ? statOrNull(path, false) : link;
  if (!stats) return null;
  if (path !== paths.socket) checkPrivateFolder(dirname(path), lstatSync(dirname(path)));
  if (!stats.isSocket() || stats.uid !== process.getuid?.())
    throw new ProtocolError("broker_down", `${path} is not a socket of your own; remove it and try again`);
  if ((stats.mode & 0o200) === 0)
    throw new ProtocolError("broker_down", `${path} is closed to you; mend it with: chmod 600 ${quoted(path)}`);
  return path;
}
