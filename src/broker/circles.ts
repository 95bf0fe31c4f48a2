// Waits that form a circle: each of its peers waits, over any number of steps, for all the others (semantics §9).
import type { WaitNote } from "../protocol/schemas.ts";
import type { Bus, Peer, Wait } from "./bus.ts";

/** A wait counts for its peer and for its connection's via. */
export function waitersOf(wait: Wait): Peer[] {
  return wait.conn.via ? [wait.peer, wait.conn.via] : [wait.peer];
}

/** Which circle a peer is part of, if any: peers of one circle have the same number. */
export type Rings = Map<Peer, number>;

/** Finds all circles in one pass over who waits for whom (strongly connected components), however many waits there are. */
export function ringsOf(bus: Bus): Rings {
  const rings: Rings = new Map();
  const order = new Map<Peer, number>();
  const lowest = new Map<Peer, number>();
  const open: Peer[] = [];
  for (const waits of bus.waits.values())
    for (const wait of waits) for (const start of waitersOf(wait)) if (!order.has(start)) visit(start, { rings, order, lowest, open });
  return rings;
}

type Search = { rings: Rings; order: Map<Peer, number>; lowest: Map<Peer, number>; open: Peer[] };
type Step = { peer: Peer; next: Iterator<Peer> };

function* waitedFor(peer: Peer): Generator<Peer> {
  for (const wait of peer.waits) yield* wait.pending;
}

/** Tarjan's algorithm with a stack of its own: a chain of waits may be long. */
function visit(start: Peer, search: Search): void {
  const steps: Step[] = [enter(start, search)];
  for (let step = steps.at(-1); step; step = steps.at(-1)) {
    const { value: peer, done } = step.next.next();
    if (done) leave(steps, search);
    else if (!search.order.has(peer)) steps.push(enter(peer, search));
    else if (!search.rings.has(peer)) lower(step.peer, search.order.get(peer) ?? 0, search);
  }
}

function enter(peer: Peer, search: Search): Step {
  const number = search.order.size;
  search.order.set(peer, number);
  search.lowest.set(peer, number);
  search.open.push(peer);
  return { peer, next: waitedFor(peer) };
}

function lower(peer: Peer, number: number, search: Search): void {
  search.lowest.set(peer, Math.min(search.lowest.get(peer) ?? 0, number));
}

function leave(steps: Step[], search: Search): void {
  const { peer } = steps.pop() as Step;
  const lowest = search.lowest.get(peer) ?? 0;
  const before = steps.at(-1);
  if (before) lower(before.peer, lowest, search);
  if (lowest !== search.order.get(peer)) return;
  for (let member = search.open.pop(); member; member = member === peer ? undefined : search.open.pop()) search.rings.set(member, lowest);
}

/** The circle that keeps a wait from ever ending: one in a wait for all, everyone in a wait for any. */
export function circleNote(wait: Wait, rings: Rings): WaitNote | null {
  for (const me of waitersOf(wait)) {
    const caught = [...wait.pending].filter((p) => p === me || rings.get(p) === rings.get(me));
    const [first] = caught;
    if (!first || (!wait.all && caught.length < wait.pending.size)) continue;
    return { kind: "circle", handles: [me, ...way(first, me, rings)].map((p) => p.handle) };
  }
  return null;
}

/** The shortest way from a peer of the circle to another. */
function way(from: Peer, goal: Peer, rings: Rings): Peer[] {
  const before = new Map<Peer, Peer | null>([[from, null]]);
  for (const peer of before.keys()) {
    if (peer === goal) break;
    for (const next of waitedFor(peer)) if (!before.has(next) && rings.get(next) === rings.get(goal)) before.set(next, peer);
  }
  const path: Peer[] = [];
  for (let at = before.get(goal); at; at = before.get(at)) path.unshift(at);
  return path;
}
