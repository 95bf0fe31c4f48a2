// A bus and a connection as they begin, before anything is known of them.
import { authDeadlineMs, type ClientName } from "../protocol/constants.ts";
import type { Bus, BusOptions, Conn, Sink } from "./bus.ts";
import { Directory } from "./directory.ts";
import { newHouse } from "./housekeeping.ts";
import { newWindows } from "./windows.ts";

/** An empty bus; `load` fills it from its store. */
export function newBus(options: BusOptions, hooks: Pick<Bus, "later" | "nativeReport">): Bus {
  return {
    ...options,
    now: options.system.now(),
    mono: options.system.monotonic(),
    boot: options.system.bootId(),
    startedAt: options.system.now(),
    conns: new Set(),
    peers: new Directory(options.store),
    aliases: new Map(),
    owner: undefined as never,
    sessions: new Map(),
    byHost: new Map(),
    groups: new Map(),
    threads: new Map(),
    waits: new Map(),
    handouts: new Set(),
    news: new Map(),
    watchers: new Set(),
    present: new Set(),
    seen: new Set(),
    windows: newWindows(),
    port: new Map<ClientName, (typeof options.ports)[number]>(options.ports.map((port) => [port.client, port])),
    nextListenOrder: 0,
    dueAt: Number.POSITIVE_INFINITY,
    nextHostCheckAt: Number.POSITIVE_INFINITY,
    nextProofAt: Number.POSITIVE_INFINITY,
    steps: [],
    out: [],
    after: [],
    counts: { requests: 0, commits: 0, timings: new Float64Array(1024), timingAt: 0 },
    house: newHouse(),
    nextMessageId: 1,
    nextThreadId: 1,
    ...hooks,
  };
}

/** A connection that has not said anything; `now` is monotonic. */
export function newConn(id: number, sink: Sink, now: number): Conn {
  return {
    id,
    sink,
    authed: false,
    authDeadline: now + authDeadlineMs,
    peer: null,
    via: null,
    kind: null,
    listening: false,
    listenOrder: 0,
    boundAt: 0,
    version: null,
    watching: null,
    tree: null,
    lines: [],
    wait: null,
    handouts: new Set(),
    filling: false,
    halfClosed: false,
    closing: false,
    dropped: false,
    closed: false,
  };
}
