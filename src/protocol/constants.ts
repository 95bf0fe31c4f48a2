// The words and numbers of the wire protocol (docs/protocol.md). Nothing is imported here, so that hook mode and the client can lean on it for free.

/** Protocol version that every client line carries as `v` and every answer repeats. */
export const protocolVersion = 2;

/** Longest client line in bytes, its newline not counted (protocol: "A line is limited to 1 MiB"). */
export const lineBytesMax = 1_048_576;

/** Where an answer stops and says `more: true`, in bytes of JSON (semantics §2). */
export const answerBytesMax = 4 * 1_048_576;

/** Handles, group names and slugs (protocol: "Handles match"). */
export const handlePattern = "^[a-z0-9][a-z0-9-]{1,47}$";

/** Longest handle in characters. */
export const handleCharactersMax = 48;

/** Names that no session, peer or group may take (semantics §4). */
export const reservedHandles: readonly string[] = ["all", "renn", "owner", "user", "human", "system", "broker"];

/** Delivery states in their order; a delivery's number in the store is its place here. */
export const deliveryStates = ["queued", "sent", "delivered", "acknowledged", "replied"] as const;
export type DeliveryState = (typeof deliveryStates)[number];

/** What a reply may say of the ask. */
export const verdicts = ["agree", "disagree", "info"] as const;
export type Verdict = (typeof verdicts)[number];

/** How a message comes: pushed, as one line at the next turn, or only in the inbox. */
export const deliveryModes = ["push", "notify", "silent"] as const;
export type DeliveryMode = (typeof deliveryModes)[number];

/** Whether a peer is there. */
export const presences = ["online", "busy", "idle", "offline", "presumed-offline"] as const;
export type Presence = (typeof presences)[number];

/** The CLIs that the protocol names. */
export const clientNames = ["claude", "codex", "gemini", "zcode", "opencode", "hummin", "other"] as const;
export type ClientName = (typeof clientNames)[number];

/** What kind of program a connection belongs to. */
export const clientKinds = ["mcp", "cli", "hook", "adapter"] as const;
export type ClientKind = (typeof clientKinds)[number];

/** How soon a recipient can see a message: now, at its next turn, or when it is back. */
export const reaches = ["now", "next-turn", "when-back"] as const;
export type Reach = (typeof reaches)[number];

/** What a session reports of itself. */
export const sessionEvents = ["session-start", "prompt", "stop", "session-end"] as const;
export type SessionEvent = (typeof sessionEvents)[number];

/** Where a hook asks for messages. */
export const hookEvents = ["session-start", "prompt", "post-tool", "stop", "session-end"] as const;
export type HookEvent = (typeof hookEvents)[number];

/**
 * The limits of the protocol page under the names of config.json (`limits`). Times are milliseconds,
 * sizes characters (Unicode code points), counts plain numbers.
 */
export const defaultLimits = {
  /** Body delivered: the most of a body that is put into a session. */
  bodyCharactersMax: 4000,
  /** Rate: stored sends and replies of one sender within one window. */
  sendsPerWindow: 20,
  sendWindowMs: 60_000,
  /** Duplicate window. */
  duplicateWindowMs: 60_000,
  /** Thread cap. */
  threadMessagesMax: 500,
  /** Unread cap per recipient. */
  unreadMax: 200,
  /** Notification batch. */
  notificationBatchMs: 60_000,
  /** Wait: default and maximum. */
  waitDefaultMs: 120_000,
  waitMaxMs: 300_000,
  /** First line length. */
  firstLineCharactersMax: 120,
  /** Proof poll: how long a hand-over may stay without proof. */
  proofWindowMs: 120_000,
};
export type Limits = typeof defaultLimits;

/** Hand-overs of one delivery over all channels before only inbox and read show it (semantics §7). */
export const attemptsMax = 3;

/** Most messages in one hook answer (semantics §8). */
export const hookMessagesMax = 10;

/** Unauthenticated connections are closed after this time (semantics §3). */
export const authDeadlineMs = 10_000;

/** How long a session end is held back from notifications and waits: clear is an end and a start (semantics §4). */
export const endGraceMs = 3_000;

/** A peer without session turns offline this long after its last connection closed; hosts are looked at as often (semantics §4). */
export const offlineGraceMs = 5_000;

/** `busy` with no event for this long shows as idle (semantics §4). */
export const busyStaleMs = 15 * 60_000;

/** For how long a renamed peer's old handle still reaches it, and an idempotency key is remembered (semantics §4, §5). */
export const dayMs = 24 * 60 * 60_000;

/** Two that answer each other this often within the time, without the owner, are throttled (semantics §6). */
export const pingPongRepliesMax = 12;
export const pingPongWindowMs = 10 * 60_000;

/** Members of a group (semantics §9). */
export const groupMembersMax = 200;
