// THE source of the wire: every request, result and event as a TypeBox schema. Types, validation, the client, the MCP tools and
// docs/protocol.md are made from it. A field or type marked `addition` is renn's own: optional, and unknown to a client of the plain protocol.
import { type Static, type TObject, type TSchema, Type } from "@sinclair/typebox";
import {
  clientKinds,
  clientNames,
  deliveryModes,
  deliveryStates,
  handlePattern,
  hookEvents,
  presences,
  reaches,
  sessionEvents,
  verdicts,
} from "./constants.ts";

const words = <const T extends readonly string[]>(list: T, description?: string) =>
  Type.Unsafe<T[number]>(
    Type.Union(
      list.map((word) => Type.Literal(word)),
      description ? { description } : {},
    ),
  );
const nullable = <T extends TSchema>(schema: T, description: string) => Type.Union([schema, Type.Null()], { description });
/** Marks what the protocol page does not have. */
const addition = <T extends TSchema>(schema: T): T => ({ ...schema, addition: true });
const id = (description: string) => Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description });
const text = (maxLength: number, description: string) => Type.String({ maxLength, description });
const flag = (description: string) => Type.Boolean({ description });
const optional = Type.Optional;

const handle = (description: string) => Type.String({ pattern: handlePattern, description });
const ids = (description: string) => Type.Array(id("a message id"), { minItems: 1, maxItems: 1000, description });
const ms = (description: string) => Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description });

const host = Type.Object(
  {
    hostPid: Type.Integer({ minimum: 1, maximum: 4_194_304, description: "process id of the CLI" }),
    hostStart: Type.Union([Type.Number(), Type.String({ maxLength: 64 })], {
      description: "its start time: Linux `/proc/<pid>/stat` field 22, macOS epoch seconds; compared as strings",
    }),
  },
  { description: "the process that runs the session" },
);
const native = Type.Object(
  { socketPath: text(4096, "the session's own socket"), token: text(512, "what it wants to hear first; kept in memory only") },
  { description: "a socket of the CLI itself through which an idle session can be woken" },
);
const client = words(clientNames, "CLI name");
const mode = words(deliveryModes, "push, notify or silent");
const references = Type.Array(text(400, "a path, URL or other pointer"), {
  maxItems: 20,
  description: "what the message is about: up to 20 strings of at most 400 characters",
});
const key = addition(
  Type.String({
    minLength: 1,
    maxLength: 128,
    description: "idempotency key: the same key with the same content gives the first result again, for 24 hours",
  }),
);
const to = Type.Union(
  [Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { minItems: 1, maxItems: 1000 }), Type.String({ minLength: 1, maxLength: 64 })],
  { description: "handles, group names (`@name` is a group for sure) and `@all`; a bare string is an array of one" },
);
const sessionHint = addition(text(200, "a cliSessionId: binds to that session's handle, never creates one"));

/** A message without its body, as threads, inboxes, pushes and watches show it (semantics §9). */
export const summarySchema = Type.Object({
  id: id("message id"),
  threadId: id("thread id"),
  seq: id("place in its thread, from 1"),
  from: Type.String({ description: "handle of the sender" }),
  via: nullable(Type.String(), "the session that spoke as the sender, or null"),
  to: Type.Array(Type.String(), { description: "handles of the recipients" }),
  kind: words(["ask", "reply"]),
  replyTo: nullable(id("message id"), "the message that a reply answers"),
  verdict: nullable(words(verdicts), "agree, disagree or info; null for asks and replies without one"),
  mode,
  references,
  at: ms("Unix time in ms"),
  firstLine: Type.String({ description: "the first line of the body, at most 120 characters" }),
  length: Type.Integer({ description: "length of the body in code points" }),
  truncated: flag("longer than what is delivered to a session"),
  state: optional(words(deliveryStates, "the caller's own delivery of it, where it has one")),
  body: optional(Type.String({ description: "the whole body, where it was asked for" })),
});
export type Summary = Static<typeof summarySchema>;

const delivery = Type.Object({
  handle: Type.String(),
  state: words(deliveryStates),
  mode,
  presence: words(presences),
  reach: words(reaches, "how soon the recipient can see it"),
});
export type DeliveryRow = Static<typeof delivery>;

const matrixRow = Type.Object({
  handle: Type.String(),
  state: words(deliveryStates),
  presence: words(presences),
  verdict: nullable(words(verdicts), "of its last reply"),
  replyMessageId: nullable(id("message id"), "its last reply"),
  repliedAt: nullable(ms("Unix time in ms"), "when"),
});
export type MatrixRow = Static<typeof matrixRow>;

const waitReply = Type.Object({
  id: id("message id"),
  seq: id("place in the thread"),
  from: Type.String(),
  verdict: nullable(words(verdicts), "its verdict"),
  body: Type.String({ description: "what would be put into a session: at most 4000 characters, then a line that says so" }),
  truncated: optional(flag("the body was cut")),
});
const note = Type.Object({
  kind: words(["unanswered", "unconfirmed", "offline", "gone", "circle"]),
  handles: Type.Array(Type.String()),
});
export type WaitNote = Static<typeof note>;

const groupRecord = Type.Object({
  name: Type.String(),
  members: Type.Array(Type.String()),
  createdAt: ms("Unix time in ms"),
  createdBy: Type.String(),
});
export type GroupRecord = Static<typeof groupRecord>;

const peerRecord = Type.Object({
  handle: Type.String(),
  display: nullable(Type.String(), "what it calls itself"),
  role: nullable(Type.String(), "what it is for"),
  client: nullable(client, "its CLI"),
  cwd: nullable(Type.String(), "its folder"),
  presence: words(presences),
  owner: flag("the person who runs this home"),
  unread: Type.Integer({ description: "unread messages" }),
  unanswered: optional(addition(Type.Integer({ description: "unread asks among them: messages that are no replies" }))),
  lastSeenAt: ms("Unix time in ms"),
  version: nullable(Type.String(), "version of the renn that it speaks with"),
});
export type PeerRecord = Static<typeof peerRecord>;

const notification = Type.Object({
  kind: words(["reply_arrived", "queued_delivered", "peer_offline"]),
  threadId: nullable(id("thread id"), "the thread it is about"),
  fromHandle: Type.String({ description: "whose reply, delivery or leaving it is" }),
  messageId: optional(addition(id("message id"))),
  throttled: optional(addition(flag("the two have answered each other too often: from here on replies wake nobody for a while"))),
});
export type Notification = Static<typeof notification>;

const attempt = Type.Object({
  channel: words(["listener", "native", "wait", "hook", "fetch"]),
  at: ms("Unix time in ms of the hand-over"),
  outcome: words([
    "open",
    "proven",
    "unproven",
    "confirmed",
    "read",
    "no-proof",
    "closed",
    "ended",
    "refused",
    "held",
    "failed",
    "restart",
  ]),
  endedAt: nullable(ms("Unix time in ms"), "when the outcome was known"),
});
export type Attempt = Static<typeof attempt>;

const more = optional(addition(flag("the answer stopped at 4 MiB; ask on from nextSeq or nextId")));
const nextSeq = optional(addition(id("ask on with this as sinceSeq")));
const nextId = optional(addition(id("read: the first id that was left out; inbox: the first thread; export: ask on with this as sinceId")));
const none = Type.Object({});

/** One request type: what it is for, its fields, its result, and whether the protocol page has it. */
export type RequestSpec = { summary: string; fields: TObject; result: TSchema; addition?: true };
const spec = <F extends TObject, R extends TSchema>(summary: string, fields: F, result: R) => ({ summary, fields, result });
const own = <F extends TObject, R extends TSchema>(summary: string, fields: F, result: R) => ({
  summary,
  fields,
  result,
  addition: true as const,
});

/** Every request type of the wire. The first eighteen are the protocol page's, the rest are renn's own. */
export const requests = {
  auth: spec("Opens the connection: must be its first line.", Type.Object({ token: text(512, "the content of the file `token`") }), none),
  register: spec(
    "Binds the connection to a peer, and makes the peer where there is none.",
    Type.Object({
      handle: optional(handle("the peer to be; without it, found by sessionHint, host, ancestors, else made")),
      display: optional(text(200, "a name for people")),
      role: optional(text(400, "what the peer is for")),
      clientKind: words(clientKinds, "mcp, cli, hook or adapter"),
      host: optional(host),
      ancestors: optional(
        Type.Array(Type.Integer({ minimum: 1, maximum: 4_194_304 }), { maxItems: 64, description: "process ids, nearest first" }),
      ),
      client: optional(client),
      cwd: optional(text(4096, "current folder")),
      owner: optional(flag("speak as the owner; the nearest session becomes via")),
      sessionHint: optional(sessionHint),
      version: optional(addition(text(64, "version of the speaking program"))),
      listen: optional(addition(flag("push events for the handle arrive on this connection"))),
    }),
    Type.Object({
      handle: Type.String({ description: "the handle that this connection now is" }),
      owner: flag("whether it is the owner"),
      via: addition(nullable(Type.String(), "the session through which it speaks, or null")),
    }),
  ),
  session: spec(
    "Reports what a CLI session does; finds or makes the session and binds the connection to its handle.",
    Type.Object({
      event: words(sessionEvents, "session-start, prompt, stop or session-end"),
      client,
      cliSessionId: Type.String({ minLength: 1, maxLength: 200, description: "the CLI's own id of the conversation" }),
      host,
      transcriptPath: optional(text(4096, "where the CLI writes the conversation")),
      title: optional(text(400, "the name that the user gave the session")),
      cwd: optional(text(4096, "current folder")),
      handle: optional(handle("a handle chosen by the user: pins it")),
      native: optional(native),
      listen: optional(flag("push events for the handle arrive on this connection (adapters)")),
      source: optional(
        addition(words(["startup", "resume", "clear", "compact", "fork"], "how a session-start came about; absent counts as clear")),
      ),
      headless: optional(addition(flag("a run that ends with its answer: no wake, no stop continuation, not in @all"))),
      bypass: optional(addition(flag("the session bypasses permissions: messages come by hooks only"))),
      version: optional(addition(text(64, "version of the speaking program"))),
    }),
    Type.Object({ handle: Type.String({ description: "the session's handle" }) }),
  ),
  delivered: spec(
    "Confirms that the session accepted pushed messages.",
    Type.Object({ ids: ids("messages of the caller") }),
    Type.Object({ delivered: Type.Array(id("message id")) }),
  ),
  send: spec(
    "Sends a message to handles, groups or everybody.",
    Type.Object({
      threadId: nullable(id("thread id"), "null opens a thread"),
      to,
      body: Type.String({ description: "any text with a visible character" }),
      references: optional(references),
      mode: optional(mode),
      key: optional(key),
    }),
    Type.Object({
      messageId: id("message id"),
      threadId: id("thread id"),
      seq: id("place in the thread"),
      via: nullable(Type.String(), "the session that spoke as the sender, or null"),
      deliveries: Type.Array(delivery),
      skipped: optional(addition(Type.Array(Type.String(), { description: "members left out because their inbox is full" }))),
      repeated: optional(addition(flag("the key was seen before: this is its first result"))),
    }),
  ),
  reply: spec(
    "Answers a message; goes to every sender, recipient and via of its thread.",
    Type.Object({
      messageId: id("the message that is answered"),
      body: Type.String({ description: "any text with a visible character" }),
      verdict: optional(words(verdicts, "agree, disagree or info")),
      references: optional(references),
      key: optional(key),
    }),
    Type.Object({
      messageId: id("message id of the reply"),
      threadId: id("thread id"),
      seq: id("place in the thread"),
      via: addition(nullable(Type.String(), "the session that spoke as the sender, or null")),
      deliveries: addition(Type.Array(delivery)),
      throttled: optional(addition(flag("two peers answered each other too often: stored, nobody woken"))),
      repeated: optional(addition(flag("the key was seen before: this is its first result"))),
    }),
  ),
  ack: spec(
    "Says that messages are taken care of without a reply.",
    Type.Object({ ids: ids("messages of the caller") }),
    Type.Object({ acknowledged: Type.Array(id("message id")) }),
  ),
  read: spec(
    "Gives messages in full, and counts the caller's own as delivered.",
    Type.Object({ ids: ids("messages") }),
    Type.Object({ messages: Type.Array(summarySchema), more, nextId }),
  ),
  inbox: spec(
    "The caller's threads, newest first, and what is unread in them.",
    Type.Object({ unreadOnly: flag("only threads with unread messages") }),
    Type.Object({
      handle: Type.String(),
      unreadTotal: Type.Integer(),
      threads: Type.Array(
        Type.Object({
          threadId: id("thread id"),
          unread: Type.Integer(),
          latestSeq: Type.Integer(),
          lastAt: ms("Unix time in ms"),
          from: Type.String({ description: "sender of the latest message" }),
          firstLine: Type.String({ description: "its first line" }),
          messages: Type.Array(summarySchema, { description: "the caller's unread messages in the thread, oldest first" }),
        }),
      ),
      more,
      nextId,
    }),
  ),
  thread: spec(
    "The messages of a thread.",
    Type.Object({
      threadId: id("thread id"),
      sinceSeq: optional(nullable(Type.Integer({ minimum: 0 }), "only messages after this seq; null is all")),
      full: optional(flag("with bodies; counts the caller's own as delivered")),
      messageId: optional(id("only that message and its replies, with bodies")),
    }),
    Type.Object({ threadId: id("thread id"), latestSeq: Type.Integer(), messages: Type.Array(summarySchema), more, nextSeq }),
  ),
  collect: spec(
    "Who has answered the thread's latest ask, and how.",
    Type.Object({ threadId: id("thread id"), messageId: optional(addition(id("another ask of the thread"))) }),
    Type.Object({
      threadId: id("thread id"),
      askMessageId: id("message id"),
      recipients: Type.Array(matrixRow),
      verdictTally: Type.Object({
        agree: Type.Integer(),
        disagree: Type.Integer(),
        info: Type.Integer(),
        pending: Type.Integer(),
      }),
    }),
  ),
  wait: spec(
    "Waits until the recipients of the caller's latest ask have replied.",
    Type.Object({
      threadId: id("thread id"),
      until: words(["all_replied", "any_replied"]),
      timeoutMs: optional(ms("default 120000, at most 300000; 0 looks once")),
      messageId: optional(addition(id("another ask of the thread"))),
      early: optional(addition(flag("end also when nobody is left who could answer, or waits form a circle"))),
      confirm: optional(addition(flag("the caller will send `delivered` for the replies it took"))),
    }),
    Type.Object({
      threadId: id("thread id"),
      conditionMet: flag("the condition holds"),
      timedOut: flag("the time ran out before"),
      matrix: Type.Array(matrixRow),
      askMessageId: addition(id("the ask that was waited for")),
      replies: addition(Type.Array(waitReply, { description: "the replies to the ask; handed over by this answer" })),
      notes: addition(Type.Array(note)),
    }),
  ),
  groups: spec(
    "Makes, lists and changes groups; answers the records it concerns.",
    Type.Object({
      action: words(["create", "list", "add", "remove", "delete"]),
      name: optional(handle("group name")),
      members: optional(Type.Array(handle("a handle"), { maxItems: 200, description: "handles" })),
    }),
    Type.Array(groupRecord),
  ),
  status: spec(
    "Who is on the bus.",
    Type.Object({ live: optional(addition(flag("leave out the offline"))) }),
    Type.Object({ now: ms("Unix time in ms"), peers: Type.Array(peerRecord), more }),
  ),
  prune: spec(
    "Deletes peers that have nothing: no live session, message, delivery, group or connection, and are not the owner.",
    none,
    Type.Object({ removed: Type.Array(Type.String(), { description: "their handles" }) }),
  ),
  hook: spec(
    "What a CLI's hook puts into the session now.",
    Type.Object({
      event: words(hookEvents, "session-start, prompt, post-tool, stop or session-end"),
      handle: optional(handle("must be the connection's own")),
      sessionHint: optional(text(200, "a cliSessionId: binds to that session's handle, never creates one")),
      client: optional(addition(client)),
      continuing: optional(addition(flag("the CLI says that this turn end follows a continuation"))),
      seen: optional(addition(Type.Array(id("message id"), { maxItems: 50, description: "pushed messages that this prompt is made of" }))),
      tools: optional(addition(flag("the session has the renn tools (MCP)"))),
      subagents: optional(
        addition(
          Type.Integer({
            minimum: -1,
            maximum: 1,
            description: "post-tool: one begins (1) or has ended (-1); while any runs, post-tool gives nothing",
          }),
        ),
      ),
    }),
    Type.Object({
      handle: Type.String(),
      texts: Type.Array(Type.String(), { description: "what the session should see, one text a message" }),
      notifications: Type.Array(notification),
      more: Type.Integer({ description: "messages that stay queued because the answer is full" }),
      block: flag("stop only: go on with the texts"),
      intro: optional(addition(Type.String({ description: "session-start only: who the session is on the bus" }))),
    }),
  ),
  "native-register": spec(
    "Names the session's own socket, through which it can be woken.",
    Type.Object({
      handle: handle("must be the connection's own"),
      socketPath: text(4096, "the socket"),
      token: text(512, "what it wants to hear first; kept in memory only"),
    }),
    none,
  ),
  "fetch-push": spec(
    "Takes queued pushes of the handle, oldest first.",
    Type.Object({
      handle: handle("must be the connection's own"),
      limit: Type.Integer({ minimum: 1, maximum: 50, description: "at most so many" }),
    }),
    Type.Object({
      messages: Type.Array(summarySchema),
      texts: Type.Array(Type.String(), { description: "what a session should see, in the same order" }),
    }),
  ),
  threads: own(
    "The most recent threads of the bus, newest first.",
    Type.Object({
      limit: optional(Type.Integer({ minimum: 1, maximum: 200, description: "default 20" })),
      handle: optional(handle("only threads that this peer is part of")),
    }),
    Type.Object({
      threads: Type.Array(
        Type.Object({
          threadId: id("thread id"),
          latestSeq: Type.Integer(),
          lastAt: ms("Unix time in ms"),
          openedBy: Type.String(),
          from: Type.String({ description: "sender of the latest message" }),
          firstLine: Type.String({ description: "first line of the opening message" }),
          lastLine: Type.String({ description: "first line of the latest message" }),
          participants: Type.Array(Type.String()),
          unread: Type.Integer({ description: "the caller's unread messages in it" }),
        }),
      ),
    }),
  ),
  search: own(
    "Full-text search over bodies, best match first.",
    Type.Object({
      text: Type.String({ minLength: 1, maxLength: 1000, description: "words; each must occur" }),
      limit: optional(Type.Integer({ minimum: 1, maximum: 100, description: "default 20" })),
      threadId: optional(id("only in this thread")),
    }),
    Type.Object({
      results: Type.Array(
        Type.Composite([summarySchema, Type.Object({ snippet: Type.String({ description: "the place, matches between «»" }) })]),
      ),
      incomplete: optional(flag("the index is still being filled: the newest messages may be missing; ask again")),
    }),
  ),
  export: own(
    "Messages with bodies and deliveries, by id.",
    Type.Object({
      threadId: optional(id("only this thread")),
      sinceId: optional(Type.Integer({ minimum: 0, description: "only messages after this id" })),
    }),
    Type.Object({
      messages: Type.Array(
        Type.Composite([
          summarySchema,
          Type.Object({ deliveries: Type.Array(Type.Object({ handle: Type.String(), state: words(deliveryStates), mode })) }),
        ]),
      ),
      more,
      nextId,
    }),
  ),
  watch: own(
    "From now on `watch` events come on this connection: messages, state changes and presence as they happen.",
    Type.Object({ threadId: optional(id("only this thread")), handle: optional(handle("only what concerns this peer")) }),
    none,
  ),
  whoami: own(
    "Who this connection is.",
    none,
    Type.Object({
      handle: Type.String(),
      owner: flag("the person who runs this home"),
      via: nullable(Type.String(), "the session through which it speaks, or null"),
      display: nullable(Type.String(), "what it calls itself"),
      role: nullable(Type.String(), "what it is for"),
      client: nullable(client, "its CLI"),
      cwd: nullable(Type.String(), "its folder"),
      presence: words(presences),
      reach: words(reaches, "how soon it can see a message"),
      pinned: flag("the handle was chosen by the user"),
      peek: flag("this connection looks from outside: reading moves nothing"),
      groups: Type.Array(Type.String()),
      unread: Type.Integer(),
      muted: Type.Array(Type.Object({ handle: nullable(Type.String(), "null is everybody"), until: ms("Unix time in ms") })),
    }),
  ),
  name: own(
    "Gives the caller's session a handle chosen by the user, pinned.",
    Type.Object({ handle: handle("the new handle") }),
    Type.Object({ handle: Type.String() }),
  ),
  cancel: own(
    "Withdraws a message of the caller from those to whom it is still queued.",
    Type.Object({ messageId: id("message id") }),
    Type.Object({
      cancelled: Type.Array(Type.String(), { description: "handles that will not see it" }),
      kept: Type.Array(Type.String(), { description: "handles that have it already" }),
    }),
  ),
  mute: own(
    "For a time the messages of a peer, or of everybody, come to the caller as silent. The owner's never do.",
    Type.Object({
      handle: optional(handle("whose; absent is everybody's")),
      forMs: Type.Integer({ minimum: 0, maximum: 30 * 24 * 3_600_000, description: "0 ends it" }),
    }),
    Type.Object({ muted: Type.Array(Type.Object({ handle: nullable(Type.String(), "null is everybody"), until: ms("Unix time in ms") })) }),
  ),
  why: own(
    "Why a message has (not) arrived: each attempt and its outcome.",
    Type.Object({ messageId: id("message id"), handle: optional(handle("only this recipient")) }),
    Type.Object({
      messageId: id("message id"),
      threadId: id("thread id"),
      from: Type.String(),
      at: ms("Unix time in ms"),
      deliveries: Type.Array(
        Type.Object({
          handle: Type.String(),
          state: words(deliveryStates),
          since: ms("Unix time in ms"),
          mode,
          presence: words(presences),
          reach: words(reaches),
          client: nullable(client, "its CLI"),
          attempts: Type.Array(attempt),
          best: Type.String({ description: "what this CLI can do at best" }),
          advice: Type.String({ description: "what a person can do now" }),
        }),
      ),
    }),
  ),
  stats: own(
    "How the broker is doing.",
    none,
    Type.Object({
      version: Type.String(),
      pid: Type.Integer(),
      startedAt: ms("Unix time in ms"),
      connections: Type.Integer(),
      sessions: Type.Integer({ description: "live sessions" }),
      listeners: Type.Integer(),
      waits: Type.Integer(),
      handedOver: Type.Integer({ description: "deliveries that wait for proof" }),
      unreadByState: Type.Object({ queued: Type.Integer(), sent: Type.Integer(), delivered: Type.Integer() }),
      oldestQueuedAt: nullable(ms("Unix time in ms"), "when the oldest queued delivery was sent"),
      messages: Type.Integer(),
      requests: Type.Integer(),
      commits: Type.Integer(),
      handlingP50Us: Type.Integer({ description: "microseconds from a line's turn to its answer, of the last 1,024" }),
      handlingP99Us: Type.Integer(),
      memoryBytes: Type.Integer(),
    }),
  ),
} satisfies Record<string, RequestSpec>;

export type RequestType = keyof typeof requests;
/** The fields of a request type, `v`, `id` and `type` left out. */
export type Fields<T extends RequestType> = Static<(typeof requests)[T]["fields"]>;
/** The result of a request type. */
export type Result<T extends RequestType> = Static<(typeof requests)[T]["result"]>;

/** What comes without a request, on a connection that listens or watches. */
export const events = {
  push: {
    summary: "A message for a listening session.",
    payload: Type.Object({
      message: summarySchema,
      mode,
      footer: Type.String({ description: "the last line of text: how to reply" }),
      text: Type.String({ description: "the exact text that the session should see" }),
    }),
  },
  notification: { summary: "Small news, gathered for a minute.", payload: Type.Array(notification) },
  watch: {
    summary: "Something that happened on the bus, for a watching connection.",
    addition: true as const,
    payload: Type.Union([
      Type.Object({ kind: Type.Literal("message"), message: summarySchema }),
      Type.Object({
        kind: Type.Literal("state"),
        messageId: id("message id"),
        threadId: id("thread id"),
        handle: Type.String(),
        state: words(deliveryStates),
        at: ms("Unix time in ms"),
      }),
      Type.Object({ kind: Type.Literal("presence"), handle: Type.String(), presence: words(presences), at: ms("Unix time in ms") }),
      Type.Object({ kind: Type.Literal("renamed"), handle: Type.String(), from: Type.String(), at: ms("Unix time in ms") }),
    ]),
  },
};
export type PushPayload = Static<(typeof events)["push"]["payload"]>;
export type WatchPayload = Static<(typeof events)["watch"]["payload"]>;
