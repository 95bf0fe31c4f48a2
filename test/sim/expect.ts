// What a send or reply must come to, worked out from the rules and not by the broker's code: whom it is for, in which mode, and why it may be refused.
import type { Bus, Peer } from "../../src/broker/bus.ts";
import { dayMs, type Limits, pingPongRepliesMax, pingPongWindowMs } from "../../src/protocol/constants.ts";

export type SendFields = { threadId: number | null; to: string[]; body: string; mode?: "push" | "notify" | "silent"; key?: string };
export type ReplyFields = { messageId: number; body: string; verdict?: "agree" | "disagree" | "info"; key?: string };
/** `deliveries` by peer id; null where this model does not say. */
export type Expected = {
  codes: string[];
  deliveries: Map<number, string> | null;
  skipped: number;
  content: string;
  repeats: number | null;
};

const modes = ["push", "notify", "silent"];
type MessageRow = {
  id: number;
  thread_id: number;
  sender_id: number;
  via: number | null;
  mode: number;
  recipients: string;
  latest: number;
};

/** The windows and keys as a sender would keep them in its head. */
export class Expectations {
  /** The clock was set and the broker restarted since: what it remembers of the windows is its own guess. */
  unsure = false;
  /** Two peers became one: what each sent counts for both, which is not worked out here. */
  blind = false;
  private readonly limits: Limits;
  private readonly rate = new Map<number, number[]>();
  private readonly duplicates = new Map<string, { at: number; id: number }>();
  private readonly keys = new Map<string, { content: string; id: number; at: number }>();
  private readonly pairs = new Map<string, number[]>();

  constructor(limits: Limits) {
    this.limits = limits;
  }

  send(bus: Bus, sender: Peer, via: Peer | null, f: SendFields): Expected {
    const content = JSON.stringify([f.threadId, f.to, f.body, f.mode ?? "push"]);
    const refused = (code: string): Expected => ({ codes: [code], deliveries: null, skipped: 0, content, repeats: null });
    const latest = f.threadId === null ? 0 : latestSeq(bus, f.threadId);
    if (latest === null) return refused("unknown_thread");
    const found = resolve(bus, sender, via, f.to);
    if (typeof found === "string") return refused(found);
    const repeated = this.byKey(bus, sender, f.key, `send ${content}`);
    if (repeated) return { ...refused(repeated.code), repeats: repeated.id };
    if (!found.exact) return { ...refused("ok"), codes: ["ok", "bad_request", "duplicate", "rate_limited", "cap_thread", "cap_inbox"] };
    const all = [...found.all];
    const duplicate = duplicateOf(["send", sender.id, f.threadId, all.map((p) => p.id).sort((a, b) => a - b), f.body]);
    const limited = this.limited(bus, sender, duplicate, f.threadId === null ? 0 : latest);
    const full = all.filter((p) => unread(bus, p) >= this.limits.unreadMax);
    const capped = full.some((p) => found.named.has(p)) || full.length === all.length;
    if (limited || capped) return { ...refused(limited ?? "cap_inbox"), codes: this.codes(limited, capped ? "cap_inbox" : "ok"), content };
    const deliveries = new Map(all.filter((p) => !full.includes(p)).map((p) => [p.id, modeOf(bus, p, sender, f.mode ?? "push")]));
    return { codes: this.codes(null, "ok"), deliveries, skipped: full.length, content, repeats: null };
  }

  reply(bus: Bus, sender: Peer, via: Peer | null, f: ReplyFields): Expected {
    const content = JSON.stringify([f.messageId, f.body, f.verdict ?? null]);
    const refused = (code: string): Expected => ({ codes: [code], deliveries: null, skipped: 0, content, repeats: null });
    const answered = messageRow(bus, f.messageId);
    if (!answered) return refused("unknown_message");
    const repeated = this.byKey(bus, sender, f.key, `reply ${content}`);
    if (repeated) return { ...refused(repeated.code), repeats: repeated.id };
    const duplicate = duplicateOf(["reply", sender.id, f.messageId, f.verdict ?? null, f.body]);
    const limited = this.limited(bus, sender, duplicate, answered.latest);
    if (limited) return { ...refused(limited), codes: this.codes(limited, "ok") };
    const participants = bus.store.db.query("SELECT peer_id FROM participants WHERE thread_id = ?").values(answered.thread_id) as [
      number,
    ][];
    const woken = new Set(
      answered.sender_id === sender.id
        ? (JSON.parse(answered.recipients) as number[])
        : [answered.sender_id, answered.via ?? answered.sender_id],
    );
    const wake = this.throttled(bus, answered, sender) ? "notify" : (modes[answered.mode] ?? "push");
    const deliveries = new Map<number, string>();
    for (const [id] of participants) {
      const peer = bus.peers.get(id);
      if (peer && peer !== sender && peer !== via) deliveries.set(id, modeOf(bus, peer, sender, woken.has(id) ? wake : "notify"));
    }
    return { codes: this.codes(null, "ok"), deliveries: this.unsure ? null : deliveries, skipped: 0, content, repeats: null };
  }

  /** Remembers what was stored. */
  stored(bus: Bus, sender: Peer, kind: "send" | "reply", f: SendFields | ReplyFields, content: string, id: number): void {
    const at = bus.system.monotonic();
    this.rate.set(sender.id, [...(this.rate.get(sender.id) ?? []), at]);
    if (f.key !== undefined) this.keys.set(`${sender.id} ${f.key}`, { content: `${kind} ${content}`, id, at: bus.system.now() });
    const row = messageRow(bus, id);
    const parts =
      "to" in f
        ? ["send", sender.id, f.threadId, (JSON.parse(row?.recipients ?? "[]") as number[]).sort((a, b) => a - b), f.body]
        : ["reply", sender.id, f.messageId, f.verdict ?? null, f.body];
    this.duplicates.set(duplicateOf(parts), { at, id });
    if ("to" in f) {
      if (sender.owner && row) this.ownerSpoke(row.thread_id);
      return;
    }
    const answered = messageRow(bus, f.messageId);
    if (!answered) return;
    const pair = pairOf(bus, answered, sender);
    if (pair) this.pairs.set(pair, [...(this.pairs.get(pair) ?? []), at]);
    if (sender.owner) this.ownerSpoke(answered.thread_id);
  }

  /** A restart: what answered each other too often is forgotten, by decision of the broker; rate and duplicates are not. */
  restarted(clockWasSet: boolean): void {
    this.pairs.clear();
    if (clockWasSet) this.unsure = true;
  }

  private codes(limited: string | null, otherwise: string): string[] {
    if (!this.unsure) return [limited ?? otherwise];
    return ["duplicate", "rate_limited", otherwise, ...(limited ? [limited, "ok", "cap_inbox"] : [])];
  }

  private byKey(bus: Bus, sender: Peer, key: string | undefined, content: string): { code: string; id: number | null } | null {
    const known = key === undefined ? undefined : this.keys.get(`${sender.id} ${key}`);
    if (!known || known.at <= bus.system.now() - dayMs) return null;
    return known.content === content ? { code: "ok", id: known.id } : { code: "bad_request", id: null };
  }

  private limited(bus: Bus, sender: Peer, duplicate: string, latest: number): string | null {
    const mono = bus.system.monotonic();
    const seen = this.duplicates.get(duplicate);
    if (seen && seen.at + this.limits.duplicateWindowMs > mono) return "duplicate";
    const times = (this.rate.get(sender.id) ?? []).filter((at) => at > mono - this.limits.sendWindowMs);
    if (times.length >= this.limits.sendsPerWindow) return "rate_limited";
    return latest >= this.limits.threadMessagesMax ? "cap_thread" : null;
  }

  private throttled(bus: Bus, answered: MessageRow, sender: Peer): boolean {
    const pair = pairOf(bus, answered, sender);
    if (!pair) return false;
    return (this.pairs.get(pair) ?? []).filter((at) => at + pingPongWindowMs > bus.system.monotonic()).length >= pingPongRepliesMax;
  }

  private ownerSpoke(threadId: number): void {
    for (const key of this.pairs.keys()) if (key.startsWith(`${threadId} `)) this.pairs.delete(key);
  }
}

/** What happens between the owner and somebody is never throttled, nor what one says to oneself. */
function pairOf(bus: Bus, answered: MessageRow, sender: Peer): string | null {
  const author = bus.peers.get(answered.sender_id);
  if (!author || author === sender || author.owner || sender.owner) return null;
  return `${answered.thread_id} ${Math.min(author.id, sender.id)} ${Math.max(author.id, sender.id)}`;
}

function duplicateOf(parts: unknown): string {
  return JSON.stringify(parts);
}

function latestSeq(bus: Bus, threadId: number): number | null {
  const row = bus.store.db.query("SELECT max(seq) AS seq FROM messages WHERE thread_id = ?").get(threadId) as { seq: number | null };
  return row.seq;
}

function messageRow(bus: Bus, id: number): MessageRow | null {
  return bus.store.db
    .query(
      "SELECT id, thread_id, sender_id, via, mode, recipients, (SELECT max(seq) FROM messages t WHERE t.thread_id = m.thread_id) AS latest FROM messages m WHERE id = ?",
    )
    .get(id) as MessageRow | null;
}

function unread(bus: Bus, peer: Peer): number {
  return (bus.store.db.query("SELECT count(*) AS n FROM deliveries WHERE peer_id = ? AND state <= 2").get(peer.id) as { n: number }).n;
}

function modeOf(bus: Bus, peer: Peer, sender: Peer, mode: string): string {
  if (sender.owner) return mode;
  const muted = bus.store.db.query("SELECT 1 FROM mutes WHERE peer_id = ? AND (muted_id = ? OR muted_id = 0) AND until_at > ?");
  return muted.get(peer.id, sender.id, bus.system.now()) ? "silent" : mode;
}

type Found = { all: Set<Peer>; named: Set<Peer>; exact: boolean };

/** Recipients by the rules; `@all` depends on who is here, which is not worked out again: `exact` is false then. */
function resolve(bus: Bus, sender: Peer, via: Peer | null, to: readonly string[]): Found | string {
  const found: Found = { all: new Set(), named: new Set(), exact: true };
  for (const name of to) {
    if (name === "@all") {
      found.exact = false;
      found.all.add(bus.owner);
      for (const peer of bus.present) found.all.add(peer);
      found.all.delete(sender);
      if (via && !found.named.has(via)) found.all.delete(via);
      continue;
    }
    const alias = bus.aliases.get(name);
    const peer = name.startsWith("@")
      ? undefined
      : (bus.peers.named(name) ?? (alias && alias.untilAt > bus.system.now() ? alias.peer : undefined));
    const group = bus.groups.get(name.replace(/^@/, ""));
    if (peer) {
      if (peer !== sender) found.all.add(peer).has(peer) && found.named.add(peer);
    } else if (group) {
      for (const member of group.members) if (member !== sender && (member !== via || found.named.has(member))) found.all.add(member);
    } else return name.startsWith("@") ? "unknown_group" : "unknown_handle";
  }
  return found.all.size ? found : "bad_request";
}
