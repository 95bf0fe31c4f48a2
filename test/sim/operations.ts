// What can happen in a simulation: each operation queues requests or changes the world; the driver lets the broker work afterwards.
import type { Peer } from "../../src/broker/bus.ts";
import type { DeliveryMode } from "../../src/protocol/constants.ts";
import type { TestConnection } from "../world/connection.ts";
import type { SendFields } from "./expect.ts";
import { killHost, listenAsSession, nativeOutcome, nativeSwitch, prove, sessionEvent, sessionStart } from "./sessions.ts";
import type { Simulation } from "./simulation.ts";

/** `alone`: it lets time pass or the broker end, so nothing else can happen in the same turn. */
export type Operation = { name: string; weight: number; alone?: boolean; run: (sim: Simulation) => void };

const toolHandles = ["tool-1", "tool-2", "tool-3", "adapter-1", "adapter-2"];
const groupNames = ["red", "blue"];

function bound(sim: Simulation): TestConnection | null {
  const open = [...sim.world.connections.values()].filter((c) => c.conn.peer && !c.ended);
  return open.length ? sim.pick(open) : null;
}

function handles(sim: Simulation): string[] {
  return sim.bus.peers.all().map((peer) => peer.handle);
}

function someId(sim: Simulation): number {
  const last = sim.bus.nextMessageId;
  return sim.says(0.05) ? last + 3 : 1 + Math.floor(sim.chance() * Math.max(1, last - 1));
}

/** One of the newest deliveries of a peer, or any message. */
function ownId(sim: Simulation, peer: Peer | null): number {
  const own = [...sim.audit.deliveries.values()].filter((d) => d.peerId === peer?.id && d.state < 3).map((d) => d.messageId);
  return own.length && sim.says(0.9) ? sim.pick(own) : someId(sim);
}

function recipients(sim: Simulation): string[] {
  const names = [...handles(sim), ...handles(sim), ...groupNames, "@red", "@all", "nobody-at-all"];
  return Array.from({ length: 1 + Math.floor(sim.chance() * 3) }, () => sim.pick(names));
}

function send(sim: Simulation): void {
  const connection = bound(sim);
  if (!connection) return;
  const again = sim.says(0.1) && sim.lastSend?.handle === connection.conn.peer?.handle ? sim.lastSend?.fields : undefined;
  const threads = sim.bus.nextThreadId - 1;
  const fields: SendFields = again ?? {
    threadId: sim.says(0.6) || !threads ? null : 1 + Math.floor(sim.chance() * (threads + 0.1)),
    to: recipients(sim),
    body: `body ${++sim.bodies}${sim.says(0.05) ? " long".repeat(2_000) : ""}`,
    mode: sim.pick<DeliveryMode>(["push", "push", "push", "notify", "silent"]),
    ...(sim.says(0.2) ? { key: `key ${Math.floor(sim.chance() * 4)}` } : {}),
  };
  sim.lastSend = { handle: connection.conn.peer?.handle ?? "", fields };
  sim.ask(connection, "send", fields);
}

function reply(sim: Simulation): void {
  const connection = bound(sim);
  if (!connection) return;
  const verdict = sim.pick(["agree", "disagree", "info", undefined] as const);
  sim.ask(connection, "reply", {
    messageId: ownId(sim, connection.conn.peer),
    body: `reply ${++sim.bodies}`,
    ...(verdict ? { verdict } : {}),
    ...(sim.says(0.1) ? { key: `key ${Math.floor(sim.chance() * 4)}` } : {}),
  });
}

function connectTool(sim: Simulation): void {
  const handle = sim.pick(toolHandles);
  const old = sim.tools.get(handle);
  if (old && !old.conn.closed && !old.ended && sim.says(0.8)) return;
  const connection = sim.connect(null);
  sim.tools.set(handle, connection);
  const listen = handle.startsWith("adapter");
  sim.ask(connection, "register", {
    handle,
    clientKind: listen ? "adapter" : sim.pick(["mcp", "cli"]),
    ...(listen ? { listen: true } : {}),
  });
}

function connectOwner(sim: Simulation): void {
  const actor = sim.says(0.5) ? sim.pick(sim.actors) : undefined;
  const connection = sim.connect(actor ? sim.world.system.start(actor.pid) : null);
  sim.ask(connection, "register", { owner: true, clientKind: "cli" });
}

/** A command inside a session's process tree, or one that looks at it from outside. */
function connectCommand(sim: Simulation): void {
  const actor = sim.pick(sim.actors);
  if (!actor) return;
  if (sim.says(0.6)) sim.ask(sim.connect(sim.world.system.start(actor.pid)), "register", { clientKind: "mcp" });
  else
    sim.ask(sim.connect(null), "register", { handle: sim.pick(handles(sim).filter((h) => h !== "renn")) ?? "tool-1", clientKind: "cli" });
}

function rebind(sim: Simulation): void {
  const connection = bound(sim);
  if (!connection || sim.waits(connection)) return;
  sim.rebound.add(connection);
  sim.ask(connection, "register", { handle: sim.pick(toolHandles), clientKind: "mcp", listen: sim.says(0.3) });
}

function confirm(sim: Simulation): void {
  const at = Math.floor(sim.chance() * sim.unconfirmed.length);
  const [pushed] = sim.says(0.2) ? sim.unconfirmed.slice(at, at + 1) : sim.unconfirmed.splice(at, 1);
  if (pushed) sim.ask(pushed.connection, "delivered", { ids: [pushed.id] });
}

function settleOwn(sim: Simulation): void {
  const connection = bound(sim);
  if (!connection) return;
  const { peer } = connection.conn;
  const ids = Array.from({ length: 1 + Math.floor(sim.chance() * 3) }, () => ownId(sim, peer));
  sim.ask(connection, sim.pick(["ack", "read", "delivered"]), { ids });
}

function look(sim: Simulation): void {
  const connection = bound(sim);
  if (!connection) return;
  const threadId = 1 + Math.floor(sim.chance() * sim.bus.nextThreadId);
  const looks: [string, object][] = [
    ["inbox", { unreadOnly: sim.says(0.5) }],
    ["thread", { threadId, sinceSeq: null, full: sim.says(0.4) }],
    ["thread", { threadId, sinceSeq: null, full: false, messageId: someId(sim) }],
    ["collect", { threadId }],
    ["status", {}],
    ["threads", {}],
    ["search", { text: "body" }],
    ["whoami", {}],
    ["why", { messageId: someId(sim) }],
    ["stats", {}],
    ["export", {}],
    ["watch", {}],
  ];
  const [type, fields] = sim.pick(looks);
  sim.ask(connection, type, fields);
}

function wait(sim: Simulation): void {
  const connection = bound(sim);
  if (!connection || connection.conn.wait) return;
  sim.ask(connection, "wait", {
    threadId: 1 + Math.floor(sim.chance() * sim.bus.nextThreadId),
    until: sim.pick(["all_replied", "any_replied"]),
    timeoutMs: sim.pick([0, 1_000, 60_000, 300_000]),
    early: sim.says(0.5),
    confirm: sim.says(0.5),
  });
}

function fetch(sim: Simulation): void {
  const connection = bound(sim);
  const { peer } = connection?.conn ?? {};
  if (!connection || !peer) return;
  sim.ask(connection, "fetch-push", { handle: peer.handle, limit: 1 + Math.floor(sim.chance() * 5) }, (frame) => {
    if (frame)
      for (const id of sim.texts(peer, (frame.result as { texts: string[] }).texts, false)) sim.unconfirmed.push({ connection, id });
  });
}

function groups(sim: Simulation): void {
  const connection = bound(sim);
  if (!connection) return;
  const action = sim.pick(["create", "create", "add", "remove", "delete", "list"]);
  sim.ask(connection, "groups", { action, name: sim.pick(groupNames), members: [sim.pick(handles(sim)), sim.pick(handles(sim))] });
}

function mute(sim: Simulation): void {
  const connection = bound(sim);
  if (connection)
    sim.ask(connection, "mute", { ...(sim.says(0.7) ? { handle: sim.pick(handles(sim)) } : {}), forMs: sim.pick([0, 30_000, 600_000]) });
}

function cancel(sim: Simulation): void {
  const connection = bound(sim);
  if (!connection) return;
  const messageId = someId(sim);
  sim.ask(connection, "cancel", { messageId }, (frame) => {
    const handles = frame ? (frame.result as { cancelled: string[] }).cancelled : sim.bus.peers.all().map((peer) => peer.handle);
    for (const handle of handles) sim.facts.cancelled.add(`m${messageId} p${sim.bus.peers.named(handle)?.id}`);
  });
}

function rename(sim: Simulation): void {
  const connection = bound(sim);
  if (!connection || sim.waits(connection)) return;
  // Onto the name of a peer without session the two become one.
  sim.facts.moved = true;
  const handle = sim.pick([...handles(sim), "fresh-1", "fresh-2", "fresh-3"]);
  const merges = sim.bus.peers.named(handle) !== undefined;
  sim.ask(connection, "name", { handle }, (frame) => {
    if (merges && frame !== null) sim.expect.blind = true;
  });
}

function closeOne(sim: Simulation): void {
  const connections = [...sim.world.connections.values()];
  if (connections.length) sim.pick(connections).close();
}

function slow(sim: Simulation): void {
  const connections = [...sim.world.connections.values()];
  const connection = connections.length ? sim.pick(connections) : undefined;
  if (connection?.slow) connection.drain();
  else if (connection) connection.slow = true;
}

function setClock(sim: Simulation): void {
  sim.clockWasSet = true;
  sim.world.system.wall += Math.floor((sim.chance() - 0.5) * sim.pick([2_000, 3_600_000, 5 * 86_400_000]));
}

function prune(sim: Simulation): void {
  const connection = bound(sim);
  if (connection) sim.ask(connection, "prune", {});
}

/** All that can happen, and how often. */
export const operations: readonly Operation[] = [
  { name: "tool", weight: 8, run: connectTool },
  { name: "owner", weight: 3, run: connectOwner },
  { name: "command", weight: 3, run: connectCommand },
  { name: "rebind", weight: 1, run: rebind },
  { name: "session-start", weight: 7, run: sessionStart },
  { name: "session-event", weight: 12, run: sessionEvent },
  { name: "session-listens", weight: 2, run: listenAsSession },
  { name: "send", weight: 22, run: send },
  { name: "reply", weight: 12, run: reply },
  { name: "confirm", weight: 8, run: confirm },
  { name: "settle", weight: 7, run: settleOwn },
  { name: "prove", weight: 6, run: prove },
  { name: "native", weight: 4, run: nativeOutcome },
  { name: "native-switch", weight: 1, run: nativeSwitch },
  { name: "look", weight: 5, run: look },
  { name: "wait", weight: 4, run: wait },
  { name: "fetch", weight: 3, run: fetch },
  { name: "groups", weight: 4, run: groups },
  { name: "mute", weight: 1, run: mute },
  { name: "cancel", weight: 2, run: cancel },
  { name: "rename", weight: 1, run: rename },
  { name: "prune", weight: 1, run: prune },
  { name: "close", weight: 4, run: closeOne },
  { name: "slow", weight: 1, run: slow },
  { name: "kill-host", weight: 1, run: killHost },
  { name: "time", weight: 8, alone: true, run: (sim) => sim.advance(sim.pick([10, 700, 3_100, 6_000, 61_000, 125_000, 1_000_000])) },
  { name: "clock", weight: 1, alone: true, run: setClock },
];
