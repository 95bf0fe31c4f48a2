// renn's connection to its bus from inside another program. `renn init` writes this file and one of its neighbours together as one plugin; it needs nothing but
// Node's own modules. Nothing here may throw into the program that it runs in, and nothing keeps that program from ending.
import { spawn } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";

export const bus = { home: "%RENN_HOME%", program: "%RENN_PROGRAM%", version: "%RENN_VERSION%" };
export const rennHome = bus.home || process.env.RENN_HOME || `${os.homedir()}/.renn`;

const callMs = 300;
/** An answer with messages in it is waited for longer than anybody waits for it: one that nobody takes would be lost until the bus gives it up. */
const hookMs = 10_000;
const retryMsMax = 30_000;
/** A little less than the bus waits for a confirmation. */
const lostMs = 100_000;
const lineCharactersMax = 8 * 1_048_576;

/** This process as the bus names hosts: its pid and when it started. */
export function thisHost() {
  try {
    const stat = fs.readFileSync("/proc/self/stat", "latin1");
    return { hostPid: process.pid, hostStart: stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] };
  } catch {
    return { hostPid: process.pid, hostStart: Math.floor(Date.now() / 1000 - process.uptime()) };
  }
}

/** The socket, once home and socket are known to be this user's alone. */
function safeSocket() {
  const uid = process.getuid();
  const home = fs.statSync(rennHome);
  if (home.uid !== uid || (home.mode & 0o077) !== 0) throw new Error("the home of renn is open to others");
  const path = fs.realpathSync(`${rennHome}/bus.sock`);
  const stats = fs.lstatSync(path);
  if (!stats.isSocket() || stats.uid !== uid) throw new Error("no socket of this user");
  return path;
}

let startedAt = 0;

/** Starts the broker where none listens; at most once in ten seconds for all links. */
function startBroker() {
  if (Date.now() - startedAt < 10_000) return;
  startedAt = Date.now();
  try {
    const child = spawn(bus.program, ["broker", "run"], {
      cwd: "/",
      detached: true,
      stdio: "ignore",
      env: { HOME: os.homedir(), PATH: process.env.PATH ?? "", RENN_HOME: rennHome },
    });
    child.on("error", () => {});
    child.unref();
  } catch {
    // Without a broker there is nothing to say.
  }
}

/** One session's connection. `hello()` gives the fields of its `session` request, `heard(event, payload)` takes what the bus pushes. */
export class BusLink {
  constructor(hello, heard) {
    this.hello = hello;
    this.heard = heard;
    this.calls = new Map();
    this.nextId = 0;
    this.retryMs = 500;
    this.closed = false;
    this.connect("session-start");
  }

  connect(event) {
    if (this.closed) return;
    this.rest = "";
    try {
      const token = fs.readFileSync(`${rennHome}/token`, "utf8").trim();
      const socket = net.connect(safeSocket());
      this.socket = socket;
      socket.setEncoding("utf8");
      socket.on("data", (text) => this.take(text));
      socket.on("error", () => {});
      socket.on("close", () => this.lost(socket));
      this.send("auth", { token });
      this.ready = this.join(event);
      this.ready.then((answer) => {
        if (answer) this.retryMs = 500;
      });
    } catch {
      this.ready = Promise.resolve(null);
      if (event !== "stop") startBroker();
      this.again();
    }
  }

  /** Joins the bus, by the name that the user started this program with, where that can be had. */
  async join(event) {
    const handle = event === "session-start" ? process.env.RENN_HANDLE : "";
    const named = handle ? await this.call("session", { ...this.hello(), event, handle }) : null;
    return named ?? this.call("session", { ...this.hello(), event });
  }

  lost(socket) {
    if (this.socket !== socket) return;
    this.socket = undefined;
    for (const done of this.calls.values()) done(null);
    this.calls.clear();
    this.again();
  }

  again() {
    if (this.closed) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.connect(this.hello().busy ? "prompt" : "stop"), this.retryMs);
    this.timer.unref?.();
    this.retryMs = Math.min(retryMsMax, this.retryMs * 2);
  }

  send(type, fields) {
    const id = ++this.nextId;
    const { busy, ...rest } = fields;
    try {
      this.socket?.write(`${JSON.stringify({ v: 2, id, type, ...rest })}\n`);
    } catch {
      // Its close is heard elsewhere.
    }
    return id;
  }

  /** The result, or null after a refusal or a short time. Never rejects. */
  call(type, fields, ms = callMs) {
    if (!this.socket || this.socket.destroyed) return Promise.resolve(null);
    const id = this.send(type, fields);
    return new Promise((resolve) => {
      const done = (result) => {
        clearTimeout(timer);
        this.calls.delete(id);
        resolve(result);
      };
      const timer = setTimeout(() => done(null), ms);
      timer.unref?.();
      this.calls.set(id, done);
    });
  }

  /** Reports what the session does. A broker that somebody stopped is started again by the next prompt, not before. */
  report(event) {
    if (!this.socket && event === "prompt") {
      startBroker();
      this.retryMs = 500;
      this.again();
    }
    return this.call("session", { ...this.hello(), event });
  }

  /** What there is to say at this event. */
  hook(event) {
    return this.call("hook", { event, client: this.hello().client }, hookMs);
  }

  take(text) {
    this.rest += text;
    if (this.rest.length > lineCharactersMax) return this.socket?.destroy();
    for (let end = this.rest.indexOf("\n"); end >= 0; end = this.rest.indexOf("\n")) {
      const line = this.rest.slice(0, end);
      this.rest = this.rest.slice(end + 1);
      try {
        const frame = JSON.parse(line);
        if (frame.type === "event") this.heard(frame.event, frame.payload);
        else this.calls.get(frame.id)?.(frame.ok === true ? frame.result : null);
      } catch {
        // A line that cannot be understood concerns nobody here.
      }
    }
  }

  close() {
    this.closed = true;
    this.socket?.end();
  }
}

/** What waits to be shown to one session, and what was shown and not yet confirmed. */
export class Mail {
  constructor() {
    this.waiting = new Map();
    this.lines = [];
    this.shown = new Map();
    this.confirmed = new Set();
    this.intro = undefined;
  }

  /** Takes a pushed event; true when it should wake the session, `again` ids that were confirmed before. */
  heard(event, payload) {
    if (event === "notification") this.lines.push(...notificationLines(payload));
    if (event !== "push" || typeof payload?.text !== "string") return { wake: false, again: [] };
    const id = payload.message.id;
    if (this.confirmed.has(id)) return { wake: false, again: [id] };
    // What came again because the connection was new is not shown twice; what the bus gave up for lost is.
    if (Date.now() - (this.shown.get(id)?.at ?? 0) < lostMs) return { wake: false, again: [] };
    this.shown.delete(id);
    this.waiting.set(id, payload.text);
    return { wake: payload.mode !== "notify" && payload.mode !== "silent", again: [] };
  }

  /** The answer of a `hook` request. */
  hooked(result) {
    if (!result) return;
    if (result.intro) this.intro = result.intro;
    this.lines.push(...notificationLines(result.notifications));
    for (const text of result.texts ?? []) {
      const id = Number(/^\[murmur m(\d+)/.exec(text)?.[1]);
      if (id && !this.shown.has(id) && !this.confirmed.has(id)) this.waiting.set(id, text);
    }
  }

  get empty() {
    return this.waiting.size === 0;
  }

  /** Everything that waits as one text with its ids, or null. `place` is what `proven` will name. */
  takeAll(place) {
    const parts = [this.intro, ...this.waiting.values(), this.lines.join("\n")].filter(Boolean);
    const ids = [...this.waiting.keys()];
    for (const id of ids) this.shown.set(id, { place, at: Date.now() });
    this.waiting.clear();
    this.lines = [];
    this.intro = undefined;
    return parts.length ? { text: parts.join("\n\n"), ids } : null;
  }

  /** Ids whose place the model is now proven to have been given. */
  proven(isProven) {
    const ids = [];
    for (const [id, { place }] of this.shown) if (isProven(place)) ids.push(id);
    for (const id of ids) {
      this.shown.delete(id);
      this.confirmed.add(id);
    }
    while (this.confirmed.size > 1000) this.confirmed.delete(this.confirmed.values().next().value);
    return ids;
  }

  /** What was shown is now known to stand at a place. */
  stands(id, place) {
    const shown = this.shown.get(id);
    if (shown) shown.place = place;
  }

  /** They were not taken after all: the bus gives them out again. */
  forget(ids) {
    for (const id of ids) this.shown.delete(id);
  }
}

function notificationLines(list) {
  const say = { reply_arrived: "replied", queued_delivered: "has now received your message", peer_offline: "left without answering" };
  return (Array.isArray(list) ? list : [])
    .filter((n) => say[n?.kind])
    .map((n) => `renn: ${n.fromHandle} ${say[n.kind]}${n.threadId ? ` (thread ${n.threadId})` : ""}`);
}

/** `promise`, or null when it takes longer. */
export function within(ms, promise) {
  const { promise: late, resolve } = Promise.withResolvers();
  const timer = setTimeout(() => resolve(null), ms);
  timer.unref?.();
  return Promise.race([Promise.resolve(promise).catch(() => null), late]).finally(() => clearTimeout(timer));
}

/** What `act` gives within `ms`, else null. It is told by `late()` once nobody takes what it gives any more: what it showed then would count as given and be lost. */
export async function inTime(ms, act) {
  let over = false;
  try {
    return await within(
      ms,
      act(() => over),
    );
  } catch {
    return null;
  } finally {
    over = true;
  }
}
