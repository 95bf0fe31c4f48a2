// The home of a broker: its folder, its lock, its token (semantics §1).
import { Database, SQLiteError } from "bun:sqlite";
import {
  closeSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname } from "node:path";
import { holderPath, holderText } from "../../holder.ts";
import type { HomePaths } from "../../home.ts";
import { realSystem } from "../../system.ts";

/** Why the broker cannot start, for the person who started it. */
export class StartError extends Error {}

const quoted = (path: string) => `'${path.replaceAll("'", "'\\''")}'`;

const fullCodes = ["ENOSPC", "EDQUOT", "SQLITE_FULL"];

/** What the person who started the broker is told of `error`; of a full disk also where it is. */
export function startFault(error: unknown, paths: HomePaths): string {
  if (!(error instanceof Error)) return String(error);
  const { code, path } = error as { code?: string; path?: string };
  if (!code || !fullCodes.includes(code)) return error.message;
  return `the disk of ${path ?? paths.home} is full (${error.message}); make room there`;
}

/** Makes the home (0700) where it is missing; refuses one that is somebody else's or open to others, with the command that mends it. */
export function prepareHome(paths: HomePaths): void {
  mkdirSync(paths.home, { recursive: true, mode: 0o700 });
  const stats = statSync(paths.home);
  if (!stats.isDirectory()) throw new StartError(`${paths.home} is no folder; set RENN_HOME to another path`);
  const uid = process.getuid?.() ?? stats.uid;
  if (stats.uid !== uid)
    throw new StartError(
      `${paths.home} belongs to another user (uid ${stats.uid}); mend it with: sudo chown -R ${uid} ${quoted(paths.home)}`,
    );
  if ((stats.mode & 0o077) !== 0)
    throw new StartError(`${paths.home} is open to other users; mend it with: chmod 700 ${quoted(paths.home)}`);
}

/** Held for the broker's whole life: a Database that is garbage collected would let the lock go. */
let lock: Database | null = null;

/** Takes the home's lock, which the kernel lets go when the process ends, however it ends. False when another broker has it. */
export function takeLock(paths: HomePaths): boolean {
  closeSync(openSync(paths.lock, "a", 0o600));
  const db = new Database(paths.lock, { create: true, readwrite: true });
  try {
    db.run("PRAGMA journal_mode = MEMORY");
    db.run("BEGIN EXCLUSIVE");
  } catch (error) {
    db.close();
    if (error instanceof SQLiteError && error.code?.startsWith("SQLITE_BUSY")) return false;
    throw new StartError(
      `the lock ${paths.lock} cannot be taken here: ${String(error)}. A network file system or a Windows drive cannot lock: set RENN_HOME to a local folder`,
    );
  }
  lock = db;
  return true;
}

/** Uses the lock, so that it is not collected; true while it is held. */
export function holdsLock(): boolean {
  return lock?.inTransaction ?? false;
}

/** Writes who holds the lock. */
export function writeHolder(paths: HomePaths, version: string): void {
  writeFile(holderPath(paths), holderText(paths, version));
}

/** Removes what only a running broker needs. */
export function removeRunFiles(paths: HomePaths): void {
  for (const path of [paths.socket, holderPath(paths)]) rmSync(path, { force: true });
}

/** Writes a file (0600) so that nobody ever sees half of it. */
function writeFile(path: string, text: string): void {
  const draft = `${path}.${process.pid}.${realSystem.randomHex(4)}`;
  const fd = openSync(draft, "wx", 0o600);
  writeSync(fd, text);
  closeSync(fd);
  renameSync(draft, path);
}

const tokenPattern = /^[0-9a-f]{64}$/;

/** The token of the home; made once. A file that holds something else is refused rather than replaced. */
export function readToken(paths: HomePaths): string {
  if (!existsSync(paths.token)) makeToken(paths.token, realSystem.randomHex(32));
  const token = readFileSync(paths.token, "utf8").trim();
  if (!tokenPattern.test(token)) throw new StartError(`${paths.token} does not hold 64 hex digits; remove it, and a new token is made`);
  return token;
}

/** Only where nothing is: a link is exclusive, and nobody sees half a token. */
function makeToken(path: string, token: string): void {
  const draft = `${path}.${process.pid}`;
  writeFile(draft, `${token}\n`);
  try {
    linkSync(draft, path);
  } catch (error) {
    if ((error as { code?: string }).code !== "EEXIST") throw error;
  } finally {
    unlinkSync(draft);
  }
}

/** The token as clients find it now: looked at again when the file changed, made again with the same content when somebody removed it. */
export function tokenReader(paths: HomePaths, warn: (event: string) => void): () => string {
  let token = readToken(paths);
  let seen = "";
  return () => {
    try {
      if (!existsSync(paths.token)) {
        warn("token-removed");
        makeToken(paths.token, token);
      }
      const stats = statSync(paths.token);
      const stamp = `${stats.ino} ${stats.mtimeMs} ${stats.size}`;
      if (stamp !== seen) token = readToken(paths);
      seen = stamp;
    } catch (error) {
      warn(`token-unreadable: ${String(error)}`);
    }
    return token;
  };
}

/** Longest socket path that both Linux (108) and macOS (104) take, with its end mark. */
const socketPathBytesMax = 103;

/** In a socket's folder outside of the home: the link that leads back to the home. */
const backLink = "home";

/**
 * Makes room for the socket and says where to listen: the home itself, or, where its path is too long, a fresh private folder to which
 * `bus.sock` then links. Only the holder of the lock may call it.
 */
export function placeSocket(paths: HomePaths): { path: string; publish: () => void } {
  removeLeftFolder(paths);
  rmSync(paths.socket, { force: true });
  if (Buffer.byteLength(paths.socket) <= socketPathBytesMax) return { path: paths.socket, publish: () => {} };
  const base = process.env.XDG_RUNTIME_DIR && existsSync(process.env.XDG_RUNTIME_DIR) ? process.env.XDG_RUNTIME_DIR : tmpdir();
  const short = [base, "/tmp"].find((dir) => Buffer.byteLength(`${dir}/renn-XXXXXX/bus.sock`) <= socketPathBytesMax) ?? "/tmp";
  const folder = mkdtempSync(`${short}/renn-`);
  symlinkSync(paths.home, `${folder}/${backLink}`);
  return { path: `${folder}/bus.sock`, publish: () => symlinkSync(`${folder}/bus.sock`, paths.socket) };
}

/** Removes the folder of a socket that a killed broker of this home left outside of it. A copied home names the folder of a broker that may serve. */
function removeLeftFolder(paths: HomePaths): void {
  if (!lstatSync(paths.socket, { throwIfNoEntry: false })?.isSymbolicLink()) return;
  const left = readlinkSync(paths.socket);
  const folder = dirname(left);
  if (!/\/renn-[A-Za-z0-9]{6}\/bus\.sock$/.test(left)) return;
  const stats = lstatSync(folder, { throwIfNoEntry: false });
  if (!stats?.isDirectory() || stats.uid !== process.getuid?.() || (stats.mode & 0o777) !== 0o700) return;
  const [back, home] = [`${folder}/${backLink}`, paths.home].map((path) => statSync(path, { throwIfNoEntry: false }));
  if (back && home && back.ino === home.ino && back.dev === home.dev) rmSync(folder, { recursive: true, force: true });
}

/** Removes the folder of a socket that lay outside of the home. */
export function removeShortFolder(paths: HomePaths, listeningOn: string): void {
  if (listeningOn !== paths.socket) rmSync(dirname(listeningOn), { recursive: true, force: true });
}
