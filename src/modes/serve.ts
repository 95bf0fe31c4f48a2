// `renn broker run`: one broker for one home, in the foreground.
import { lstatSync } from "node:fs";
import { Broker } from "../broker/broker.ts";
import { type Log, openLog } from "../broker/log.ts";
import { Server } from "../broker/server.ts";
import { openStore } from "../broker/store/migrate.ts";
import { Store } from "../broker/store/store.ts";
import { cliPorts } from "../clis/ports.ts";
import { type HomePaths, homePaths } from "../home.ts";
import { realSystem } from "../system.ts";
import { version } from "../version.ts";
import { readConfig } from "./serve/config.ts";
import {
  holdsLock,
  placeSocket,
  prepareHome,
  readHolder,
  removeRunFiles,
  removeShortFolder,
  StartError,
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
    writeHolder(paths, version);
    return await run(paths, signals);
  } catch (error) {
    const why = error instanceof StartError ? error.message : error instanceof Error ? error.message : String(error);
    process.stderr.write(`renn: the broker cannot start: ${why}\n`);
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
  const holder = readHolder(paths);
  // The socket may have been removed under the holder: it listens again when it is told.
  if (holder && !isThere(paths.socket)) process.kill(holder.pid, "SIGHUP");
  process.stdout.write(`renn: ${holder ? `broker ${holder.pid} (version ${holder.version})` : "another broker"} serves ${paths.home}\n`);
  return process.exit(0);
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

async function run(paths: HomePaths, signals: Signals): Promise<never> {
  const log = openLog(paths.log, process.env.RENN_LOG, realSystem.now);
  const config = readConfig(paths.config);
  const { db, moved } = openStore(paths.database, realSystem.now());
  if (moved) log("error", "store-was-corrupt", { movedTo: moved });
  if (moved) process.stderr.write(`renn: the store was corrupt and was moved to ${moved}; a new one was started\n`);
  const broker: Broker = new Broker({
    system: realSystem,
    store: new Store(db),
    token: tokenReader(paths, (event) => log("warn", event)),
    limits: config.limits,
    ownerHandle: config.owner,
    repliesToAll: config.replies === "all",
    retentionDays: config.retentionDays,
    ports: cliPorts((session, messageId, body) => broker.sessionSaid(session.client, session.cliSessionId, messageId, body)),
    version,
    log,
  });
  const server = new Server(broker, realSystem.monotonic);
  const listening = new Listening(paths, server, log);
  listening.start();
  log("info", "serving", { version, home: paths.home });
  signals.onHangup = () => listening.check();
  server.onTick = () => listening.check();
  await signals.asked;
  server.stop();
  removeShortFolder(paths, listening.path);
  removeRunFiles(paths);
  log("info", "stopped");
  return process.exit(0);
}

/** Where the broker listens, and whether that is still there. */
class Listening {
  path = "";
  private readonly paths: HomePaths;
  private readonly server: Server;
  private readonly log: Log;
  private inode = 0;
  private readonly databaseInode: number;
  constructor(paths: HomePaths, server: Server, log: Log) {
    this.paths = paths;
    this.server = server;
    this.log = log;
    this.databaseInode = lstatSync(paths.database).ino;
  }

  start(): void {
    const { path, publish } = placeSocket(this.paths);
    this.server.listen(path);
    publish();
    this.path = path;
    this.inode = lstatSync(path).ino;
  }

  /** Listens again where the socket was removed or replaced. A store that was replaced ends the broker as it is: closing it would touch the new one. */
  check(): void {
    if (lstatSync(this.paths.database, { throwIfNoEntry: false })?.ino !== this.databaseInode) {
      this.log("error", "store-was-replaced", { database: this.paths.database });
      process.exit(3);
    }
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
