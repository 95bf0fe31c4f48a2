// The structured side of an answer. Codex and others show the model this instead of the text, so it carries the same warning, is as harmless, and as short:
// what is absent, empty or false below the top level is left out, and times are ages.
import type { PeerRecord, Result, Summary } from "../../protocol/schemas.ts";
import { ageWords, codePoints, cut, harmless } from "../../protocol/text.ts";
import { bodyCharactersMax, origin } from "./present.ts";

/** Makes every text harmless, at any depth. */
export function harmlessDeep<T>(value: T): T {
  if (typeof value === "string") return harmless(value) as T;
  if (Array.isArray(value)) return value.map(harmlessDeep) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, harmlessDeep(inner)])) as T;
}

const says = (value: unknown) => value !== null && value !== undefined && value !== false && !(Array.isArray(value) && value.length === 0);

function short(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(short);
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([, inner]) => says(inner));
  return Object.fromEntries(kept.map(([name, inner]) => [name, short(inner)]));
}

/** A result as `structuredContent`: its own fields all there, as its schema says, and nothing idle below them. */
export function toolData(result: object): Record<string, unknown> {
  return harmlessDeep(Object.fromEntries(Object.entries(result).map(([name, inner]) => [name, short(inner)])));
}

function messageData(
  { id, threadId, seq, from, via, to, replyTo, verdict, mode, references, at, firstLine, length, state, body }: Summary,
  now: number,
) {
  const words = body === undefined ? firstLine : cut(body, bodyCharactersMax);
  const shown = body ?? firstLine;
  const longer = body === undefined ? length > codePoints(firstLine) : words.length < shown.length;
  return {
    id,
    threadId,
    seq,
    from,
    via,
    to,
    replyTo,
    verdict,
    mode: mode === "push" ? null : mode,
    references,
    ago: ageWords(now - at),
    state,
    [body === undefined ? "firstLine" : "body"]: words,
    length: longer ? length : null,
  };
}

/** Messages with the sentence that says whose words they are; `length` only where what is shown is not all of it. */
export function messagesData(result: { messages: readonly Summary[] }, now: number) {
  return { note: origin, ...result, messages: result.messages.map((message) => messageData(message, now)) };
}

/** An inbox: a thread's unread messages, else the first line of its latest. */
export function inboxData(result: Result<"inbox">, now: number) {
  const threads = result.threads.map(({ messages, lastAt, from, firstLine, ...thread }) => ({
    ...thread,
    ...(messages.length
      ? { messages: messages.map((message) => messageData(message, now)) }
      : { from, firstLine, ago: ageWords(now - lastAt) }),
  }));
  return { note: origin, ...result, threads };
}

/** The most recent threads. */
export function threadsData(result: Result<"threads">, now: number) {
  return { note: origin, threads: result.threads.map(({ lastAt, ...thread }) => ({ ...thread, ago: ageWords(now - lastAt) })) };
}

/** A wait with the sentence that says whose words the replies are. */
export function waitData(result: Result<"wait">) {
  const matrix = result.matrix.map(({ repliedAt: _at, ...row }) => row);
  const replies = result.replies.map((reply) => ({ ...reply, body: cut(reply.body, bodyCharactersMax) }));
  return { ...(replies.length ? { note: origin } : {}), ...result, matrix, replies };
}

/** Who has answered an ask. */
export function collectData({ recipients, ...result }: Result<"collect">, now: number) {
  return {
    ...result,
    recipients: recipients.map(({ repliedAt, ...row }) => ({ ...row, ago: repliedAt === null ? null : ageWords(now - repliedAt) })),
  };
}

/** Groups with how long ago each was made. */
export function groupsData(groups: Result<"groups">, now: number) {
  return { groups: groups.map(({ createdAt, ...group }) => ({ ...group, ago: ageWords(now - createdAt) })) };
}

/** The caller and the others; of each what helps to choose whom to ask. */
export function statusData(you: Result<"whoami">, result: Result<"status">) {
  const peers = result.peers.filter((peer) => peer.handle !== you.handle).map(peerData);
  const muted = you.muted.map(({ handle, until }) => ({ handle: handle ?? "everybody", left: ageWords(until - result.now) }));
  return { you: { ...you, muted }, ...result, peers };
}

const peerData = ({ handle, display, role, client, cwd, presence, owner, unread }: PeerRecord) => ({
  handle,
  display: display === handle ? null : display,
  role,
  client,
  cwd,
  presence,
  owner,
  unread: unread || null,
});
