// `renn broker run`: one broker for one home, in the foreground.
import { lstatSync } from "node:fs";
import { Broker } from "../broker/broker.ts";
import { type Log, openLog } from "../broker/log.ts";
import { Server } from "../broker/server.ts";
import { isCorrupt, moveAside, openStore } from "../broker/store/migrate.ts";
import { Store } from "../broker/store/store.ts";
import { cliPorts } from "../clis/ports.ts";
import { holder } from "../holder.ts";
import { type HomePaths, homePaths } from "../home.ts";
import { realSystem } from "../system.ts";
import { version } from "../version.ts";
import { type Config, readConfig } from "./serve/config.ts";
import {
  holdsLock,
  placeSocket,
  prepareHome,
  removeRunFiles,
  removeShortFolder,
  StartError,
  startFault,
  takeLock,
  tokenReader,
  writeHolder,
} from "./serve/home.ts";

/**
 * Serves the home until SIGTERM or SIGINT. Where another broker serves it already, says so and ends with status 0; where that one's socket has been
 * removed, asks it to listen again. What keeps it from starting goes to stderr, with status 3.
 */
export async function serve(): Promise<never> {
  process.umask(0o077);
  // From the first moment on: a signal that comes while the broker starts must not kill it halfway.
  const signals = new Signals();
  const paths = homePaths();
  try {
    prepareHome(paths);
    if (!takeLock(paths)) return yieldToHolder(paths);
    await endUnlocked(paths);
    writeHolder(paths, version);
    return await run(paths, signals);
  } catch (error) {
    process.stderr.write(`renn: the broker cannot start: ${startFault(error, paths)}\n`);
    return process.exit(3);
  }
}

/** SIGTERM and SIGINT end the broker, SIGHUP asks it to look after its socket. */
class Signals {
  onHangup: () => void = () => {};
  readonly asked: Promise<void>;
  constructor() {
    process.on("SIGHUP", () => this.onHangup());
    this.asked = new Promise((resolve) => {
      process.on("SIGTERM", () => resolve());
      process.on("SIGINT", () => resolve());
    });
  }
}

function yieldToHolder(paths: HomePaths): never {
  const other = holder(paths);
  // The socket may have been removed under the holder: it listens again when it is told.
  if (other && !isThere(paths.socket)) process.kill(other.pid, "SIGHUP");
  process.stdout.write(`renn: ${other ? `broker ${other.pid} (version ${other.version})` : "another broker"} serves ${paths.home}\n`);
  return process.exit(0);
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** How long a broker without its lock may take to end. */
const endMsMax = 5_000;

/** A broker that lives although its lock was free: somebody removed the lock's file under it. It is asked to end before this one opens the store. */
async function endUnlocked(paths: HomePaths): Promise<void> {
  const other = holder(paths);
  if (!other) return;
  process.kill(other.pid, "SIGTERM");
  for (const deadline = realSystem.monotonic() + endMsMax; holder(paths); await Bun.sleep(20))
    if (realSystem.monotonic() > deadline)
      throw new StartError(`broker ${other.pid} still serves ${paths.home} without its lock; end it first`);
}

type Opened = { broker: Broker; store: Store; place: StorePlace };

/** Opens the store and a broker over it. A store that is corrupt is moved aside, which is said loudly, and a new one is begun. */
function openBroker(paths: HomePaths, config: Config, log: Log): Opened {
  const { db, moved, kept } = openStore(paths.database, realSystem.now());
  if (moved) tellMoved(moved, kept, log);
  try {
    return brokerOver(db, paths, config, log);
  } catch (error) {
    // A new file that is corrupt as well is no matter of this file: the disk is.
    if (moved || !isCorrupt(error)) throw error;
    db.close();
    tellMoved(moveAside(paths.database, realSystem.now()), false, log);
    return brokerOver(openStore(paths.database, realSystem.now()).db, paths, config, log);
  }
}

function brokerOver(db: Store["db"], paths: HomePaths, config: Config, log: Log): Opened {
  const place = new StorePlace(paths);
  const store = new Store(db, () => place.holds());
  const broker: Broker = new Broker({
    system: realSystem,
    store,
    token: tokenReader(paths, (event) => log("warn", event)),
    limits: config.limits,
    ownerHandle: config.owner,
    repliesToAll: config.replies === "all",
    retentionDays: config.retentionDays,
    ports: cliPorts(
      (session, messageId, body) => broker.sessionSaid(session.client, session.cliSessionId, messageId, body),
      config.codexResume,
    ),
    version,
    log,
  });
  return { broker, store, place };
}

function tellMoved(moved: string, kept: boolean, log: Log): void {
  log("error", "store-was-corrupt", { movedTo: moved, kept });
  const what = kept ? "its messages were taken over, and its search index is made again" : "a new one was started";
  process.stderr.write(`renn: the store was corrupt and was moved to ${moved}; ${what}\n`);
}

async function run(paths: HomePaths, signals: Signals): Promise<never> {
  const log = openLog(paths.log, process.env.RENN_LOG, realSystem.now);
  const config = readConfig(paths.config);
  const { broker, store, place } = openBroker(paths, config, log);
  const server = new Server(broker, realSystem.monotonic);
  const listening = new Listening(paths, server, log);
  listening.start();
  place.onLost = (path) => endWithoutStore(path, store, log);
  log("info", "serving", { version, home: paths.home });
  signals.onHangup = () => place.holds() && listening.check();
  server.onTick = () => place.holds() && listening.check();
  await signals.asked;
  await server.stop();
  removeShortFolder(paths, listening.path);
  removeRunFiles(paths);
  log("info", "stopped");
  return process.exit(0);
}

/** Where the files stand that make this broker the only one on its store: the database and the lock. */
class StorePlace {
  /** Called soon after one of them was found to be gone. */
  onLost: (path: string) => void = () => {};
  private readonly files: { path: string; inode: number }[];
  constructor(paths: HomePaths) {
    this.files = [paths.database, paths.lock].map((path) => ({ path, inode: lstatSync(path).ino }));
  }

  /** Whether the files that are open still stand at their paths. Without its lock another broker may have the store. */
  holds(): boolean {
    const lost = this.files.find(({ path, inode }) => lstatSync(path, { throwIfNoEntry: false })?.ino !== inode);
    if (!lost) return true;
    setImmediate(() => this.onLost(lost.path));
    return false;
  }
}

/**
 * The database or the lock was removed or replaced: what was answered goes into the file that is open, and the broker ends as it is, since closing would
 * touch what stands there now. Whoever asks next starts another one.
 */
function endWithoutStore(path: string, store: Store, log: Log): never {
  log("error", "store-was-replaced", { removed: path });
  try {
    store.settle();
  } finally {
    process.exit(3);
  }
}

/** Where the broker listens, and whether that is still there. */
class Listening {
  path = "";
  private readonly paths: HomePaths;
  private readonly server: Server;
  private readonly log: Log;
  private inode = 0;
  constructor(paths: HomePaths, server: Server, log: Log) {
    this.paths = paths;
    this.server = server;
    this.log = log;
  }

  start(): void {
    const { path, publish } = placeSocket(this.paths);
    this.server.listen(path);
    publish();
    if (this.path) removeShortFolder(this.paths, this.path);
    this.path = path;
    this.inode = lstatSync(path).ino;
  }

  /** Listens again where the socket was removed or replaced. */
  check(): void {
    const there = isThere(this.paths.socket) && lstatSync(this.path, { throwIfNoEntry: false })?.ino === this.inode;
    if (there || !holdsLock()) return;
    this.log("warn", "socket-was-removed");
    try {
      this.start();
    } catch (error) {
      this.log("error", "cannot-listen", { error: String(error) });
    }
  }
}
