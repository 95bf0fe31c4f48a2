// What the broker is given from outside its room: facts about each CLI and channels into sessions. src/clis implements them, serve hands them over;
// the broker itself imports no CLI.
import type { ClientName } from "../protocol/constants.ts";

/** What the broker knows of a session when it asks a CLI something. */
export type SessionView = {
  client: ClientName;
  cliSessionId: string;
  hostPid: number;
  hostStart: string;
  transcriptPath: string | null;
  cwd: string | null;
  /** Set by `native-register` or `session.native`; else the channel finds the socket by itself. */
  native: { socketPath: string; token: string } | null;
};

/** Reads a transcript row by row and names the messages that are now proven to have reached the model. Keeps what it must remember between rows. */
export type ProofReader = (row: string) => number[];

/** What became of a native push: `held` waits for the user; `failed` and `refused` fall back to hooks. Acceptance says nothing. */
export type NativeOutcome = { kind: "refused" | "held" | "failed"; reason: string };

/** A text for a session, and whose. */
export type NativeFrame = {
  /** The messages in it. */
  ids: number[];
  text: string;
  /** Handle of the sender of the (first) message. */
  from: string;
};

/** A way into a CLI's running session from outside, without its hooks. */
export type NativeChannel = {
  /** Whether this session can be reached so right now. Cheap: asked at each send to it. */
  available(session: SessionView): boolean;
  /** Whether the CLI's own queue still holds these messages (the proof window stands still), where that can be known. */
  holds?(session: SessionView, ids: number[]): boolean;
  /** Starts the hand-over. `report` may be called later, any number of times. Never throws. */
  push(session: SessionView, frame: NativeFrame, report: (outcome: NativeOutcome) => void): void;
  /** Checks a socket that a session names: null when it is fit, else what is wrong with it. */
  check?(session: SessionView, socketPath: string): string | null;
};

/** Everything the broker needs to know of one CLI. */
export type CliPort = {
  client: ClientName;
  /** How many conversations one process holds at a time (semantics §4). `unknown` is matched by process only while it holds one. */
  conversations: "one" | "many" | "unknown";
  /** The most that one hook answer may hold, and how it is measured (semantics §8). */
  hookBudget: { unit: "utf16" | "bytes"; max: number };
  /** How delivery is proven: rows of a transcript, an adapter that confirms, or not at all (then the next hook event counts, unproven). */
  proof: "transcript" | "adapter" | "none";
  /** A new reader for one transcript; only with `proof: "transcript"`. */
  proofReader?(): ProofReader;
  native?: NativeChannel;
  /** Whether a stop hook can make the session go on. */
  continuesAtStop: boolean;
  /** What this CLI can do at best, for `renn why`. */
  best: string;
};
