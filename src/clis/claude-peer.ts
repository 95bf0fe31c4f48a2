// Claude Code's peer socket: how an idle session is woken. Its registry names the socket of each session; frames go in over a connection of their own, and only
// bad news comes back, to a socket of this process that the frame names in `from`. Undocumented, so everything is looked at anew for each session.
import { closeSync, constants, fstatSync, lstatSync, openSync, readSync } from "node:fs";
import { dirname } from "node:path";
import type { NativeChannel, NativeFrame, NativeOutcome, SessionView } from "../broker/ports.ts";
import { type Notice, type PeerListener, type PeerWord, peerListener } from "./claude-peer-listener.ts";
import { parseObject, textField } from "./payload.ts";

/** Claude's guards against floods: a bucket for each sender, and no text twice within the time. */
const bucketSize = 30;
const bucketPerMs = 0.5 / 1000;
const sameTextMs = 30_000;
const connectMsMax = 3_000;
const rememberedMax = 1000;
const registryBytesMax = 65_536;
const keyBytesMax = 4096;

/** A session's word that came over its own SendMessage, as an answer to the last message it was pushed. */
export type PeerReply = (session: SessionView, messageId: number, body: string) => void;

type Entry = { socketPath: string; keyPath: string; status: string };
type Post = { session: SessionView; ids: number[]; report: (outcome: NativeOutcome) => void };

/** The channel; `onReply` hears what sessions answer through Claude's own SendMessage. */
export function claudePeer(onReply?: PeerReply): NativeChannel {
  const posts = new Map<string, Post>();
  const lastPost = new Map<string, Post>();
  const held = new Set<string>();
  const guard = floodGuard();
  const listeners = new Map<string, PeerListener | null>();

  function hear(word: PeerWord, pid: number | null): void {
    if (word.kind === "said") {
      const post = lastPost.get(word.from);
      const id = post?.ids.at(-1);
      // `from` is only a claim: the word counts as the session's when its own process brought it.
      if (post && id !== undefined && (pid === null || pid === post.session.hostPid)) onReply?.(post.session, id, word.body);
      return;
    }
    const post = posts.get(word.messageId);
    if (!post) return;
    for (const id of post.ids) held[word.status === "held" ? "add" : "delete"](heldKey(post.session, id));
    const outcome = outcomeOf(word);
    if (outcome) post.report(outcome);
  }

  function listenerIn(folder: string): PeerListener | null {
    if (!listeners.has(folder)) listeners.set(folder, peerListener(folder, hear));
    return listeners.get(folder) ?? null;
  }

  return {
    available: (session) => find(session) !== null,
    holds: (session, ids) => find(session)?.status === "waiting" || ids.some((id) => held.has(heldKey(session, id))),
    check(session, socketPath) {
      const entry = find(session);
      if (entry === null) return "Claude Code's registry has no such live session";
      return entry.socketPath === socketPath ? null : "this is not the socket that Claude Code's registry names for the session";
    },
    push(session, frame, report) {
      try {
        const entry = find(session);
        const token = session.native?.token ?? (entry && readToken(entry));
        if (!entry || !token) return report({ kind: "failed", reason: "the session's peer socket is gone" });
        if (!guard.take(entry.socketPath)) return report({ kind: "failed", reason: "Claude takes no more than 30 messages at a time" });
        const from = listenerIn(dirname(entry.socketPath))?.address ?? `renn:${frame.from}`;
        const text = guard.fresh(entry.socketPath, frame.text);
        const messageId = crypto.randomUUID();
        const post = { session, ids: frame.ids, report };
        remember(posts, messageId, post);
        remember(lastPost, `uds:${entry.socketPath}`, post);
        write(entry.socketPath, lines(token, messageId, from, session, { ...frame, text }), report);
      } catch (error) {
        report({ kind: "failed", reason: String(error) });
      }
    },
  };
}

function heldKey(session: SessionView, id: number): string {
  return `${session.cliSessionId} ${id}`;
}

function remember<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
  const oldest = map.size > rememberedMax ? map.keys().next().value : undefined;
  if (oldest !== undefined) map.delete(oldest);
}

function outcomeOf({ status, reason }: Notice): NativeOutcome | null {
  if (status === "held") return { kind: "held", reason };
  if (status === "expired" || status === "denied" || status === "refused") return { kind: "refused", reason };
  return status === "dropped" ? { kind: "failed", reason } : null;
}

/** What Claude's guards still let through, by socket. */
function floodGuard() {
  const buckets = new Map<string, { left: number; at: number }>();
  const texts = new Map<string, number>();
  return {
    take(key: string): boolean {
      const now = performance.now();
      const bucket = buckets.get(key) ?? { left: bucketSize, at: now };
      bucket.left = Math.min(bucketSize, bucket.left + (now - bucket.at) * bucketPerMs);
      bucket.at = now;
      remember(buckets, key, bucket);
      if (bucket.left < 1) return false;
      bucket.left--;
      return true;
    },
    /** The text, made different where the same went the same way just before. */
    fresh(key: string, text: string): string {
      const now = performance.now();
      const same = `${key}\n${new Bun.CryptoHasher("sha256").update(text).digest("hex")}`;
      const again = now - (texts.get(same) ?? Number.NEGATIVE_INFINITY) < sameTextMs;
      remember(texts, same, now);
      return again ? `${text}\n(sent again ${new Date().toISOString()})` : text;
    },
  };
}

/** The session's registry entry, when it is that session's, its process's and the socket our user's; else null. */
function find(session: SessionView): Entry | null {
  try {
    const folder = `${configFolder(session)}/sessions`;
    const path = `${folder}/${session.hostPid}.json`;
    const row = parseObject(readOwn(path, registryBytesMax));
    if (row === null || row.pid !== session.hostPid || row.sessionId !== session.cliSessionId || row.entrypoint === "sdk-cli") return null;
    if (process.platform === "linux" && String(row.procStart) !== session.hostStart) return null;
    const socketPath = textField(row, 4096, "messagingSocketPath");
    if (!socketPath?.startsWith("/") || !ownSocket(socketPath)) return null;
    const hash = new Bun.CryptoHasher("sha256").update(socketPath).digest("hex");
    return { socketPath, keyPath: `${folder}/${session.hostPid}.${hash}.key`, status: String(row.status) };
  } catch {
    return null;
  }
}

/** Claude's configuration folder: the transcript lies in its `projects`. */
function configFolder(session: SessionView): string {
  const match = /^(\/.*)\/projects\/[^/]+\/[^/]+\.jsonl$/.exec(session.transcriptPath ?? "");
  return match?.[1] ?? `${process.env.HOME}/.claude`;
}

function ownSocket(path: string): boolean {
  const stats = lstatSync(path);
  return stats.isSocket() && stats.uid === process.getuid?.();
}

function readToken(entry: Entry): string | undefined {
  const key = parseObject(readOwn(entry.keyPath, keyBytesMax));
  return key ? textField(key, 512, "peerToken") : undefined;
}

/** A short file of our user. Throws for anything else: what could block (a FIFO), is too long, or leads elsewhere. */
function readOwn(path: string, bytesMax: number): string {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW | constants.O_NOCTTY);
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile() || stats.uid !== process.getuid?.() || stats.size > bytesMax)
      throw new Error(`${path} is no short file of this user`);
    const buffer = Buffer.alloc(stats.size);
    return buffer.toString("utf8", 0, readSync(fd, buffer, 0, stats.size, 0));
  } finally {
    closeSync(fd);
  }
}

function lines(token: string, messageId: string, from: string, session: SessionView, frame: NativeFrame): string {
  const content = `<cross-session-message from="${from}" from-name="${frame.from}">\n${frame.text}\n</cross-session-message>`;
  const message = { type: "user", msgV: 1, msg_id: messageId, from, priority: "next", session_id: session.cliSessionId };
  return `${JSON.stringify({ type: "auth", token })}\n${JSON.stringify({ ...message, message: { role: "user", content } })}\n`;
}

/** One connection for the frame, closed in any case. Silence is success; that the socket is dead or takes nothing is a failure. */
function write(path: string, text: string, report: Post["report"]): void {
  let unsent: Uint8Array = new TextEncoder().encode(text);
  let over = false;
  const fail = (reason: string) => {
    if (!over) report({ kind: "failed", reason });
    over = true;
    clearTimeout(timer);
  };
  let opened: { terminate(): void } | undefined;
  const timer = setTimeout(() => {
    fail("the session's peer socket does not take the message");
    opened?.terminate();
  }, connectMsMax);
  const flush = (socket: { write(bytes: Uint8Array): number; end(): void }) => {
    unsent = unsent.subarray(Math.max(0, socket.write(unsent)));
    if (unsent.length || over) return;
    over = true;
    clearTimeout(timer);
    socket.end();
  };
  const socket = {
    open(connection: Parameters<typeof flush>[0] & { terminate(): void }) {
      opened = connection;
      flush(connection);
    },
    drain: flush,
    data: () => {},
    error: (_: unknown, e: Error) => fail(e.message),
    close: () => fail("the session's peer socket was closed"),
    connectError: (_: unknown, e: Error) => fail(e.message),
  } as const;
  Bun.connect({ unix: path, socket }).catch((error) => fail(String(error)));
}
