// What renn knows of one CLI, as data and pure functions: the shape that every file of this folder fills. Nothing here touches files, processes or the clock,
// because hook mode loads all of it at every tool call of every session.
import type { CliPort, ProofReader } from "../broker/ports.ts";
import type { ClientName, HookEvent } from "../protocol/constants.ts";
import type { Edit, SetupPlace } from "./edits.ts";
import type { Payload } from "./payload.ts";

/** How a session-start came about (semantics §4). */
export type Source = "startup" | "resume" | "clear" | "compact" | "fork";

/** One run of a hook in renn's words. */
export type HookInput = {
  event: HookEvent;
  sessionId: string;
  transcriptPath?: string;
  title?: string;
  cwd?: string;
  source?: Source;
  /** The session bypasses permissions: peers' texts come by hooks only (semantics §7). */
  bypass?: boolean;
  /** The CLI says that this turn end follows a continuation. */
  continuing?: boolean;
  /** What is printed at this event does not reach the model: nothing is fetched, so that nothing is handed over in vain. */
  unheard?: true;
  /** A subagent begins (1) or has ended (-1) whose tool calls look like the session's own. */
  subagents?: 1 | -1;
  /** Messages that this prompt is made of: it was pushed natively. */
  seen?: number[];
  /** The process that the payload names as the session's; -1 for a name that is no process id. */
  pid?: number;
};

/** A process above the hook, as far as telling CLIs apart needs it: also its process group, and the number of its controlling terminal (0: it has none). */
export type Ancestor = { pid: number; start: string; name: string; group: number; tty: number };

export type Environment = Readonly<Record<string, string | undefined>>;

/** The side of a CLI that hook mode uses. */
export type HookSide = {
  /** What the payload says; null when the event is not ours to act on (a subagent's, one that we do not use, another CLI's). */
  parse(payload: Payload, event: string | undefined, env: Environment): HookInput | null;
  /** Why nothing came of a payload, where that is a mistake of whoever wrote it and no event of another's. */
  mistake?(payload: Payload, event: string | undefined): string | undefined;
  /** The name of the CLI's process: looking further up would find another one. Absent where it goes by the name of its interpreter. */
  program?: RegExp;
  /** The CLI's process among the ancestors, nearest first; `pid` is what the payload named. */
  host(ancestors: readonly Ancestor[], env: Environment, pid?: number): Ancestor | undefined;
  /** Whether the run ends with its answer, by its environment and the host's arguments; undefined where that cannot be known. */
  headless?(env: Environment, hostArguments: () => string[]): boolean;
  /** A title that the payload does not carry; `read` gives the end of a file. */
  title?(input: HookInput, read: (path: string, bytes: number) => string): string | undefined;
  /** What goes to stdout so that the model sees `text` at this event. */
  answer(event: HookEvent, eventName: string, text: string): string;
  /** What goes to stdout where there is nothing to say. */
  silent: "" | "{}";
  /** The most that one answer may hold; over it the CLI would cut or hide it. */
  answerMax: CliPort["hookBudget"];
};

/** How `renn init` joins the CLI. */
export type SetupSide = {
  /** Its configuration folder under the user's home, the variable that moves it, and the folder by which the CLI is found where that is not the same. */
  folder: { home: string; env?: string; sign?: string };
  /** Its program on PATH. */
  binary: string;
  /** What a person should know once it is done. */
  after: string;
  /** What init writes; each can be taken out again. */
  edits(place: SetupPlace): Edit[];
};

/** One CLI. */
export type Cli = {
  client: ClientName;
  facts: Omit<CliPort, "client" | "native" | "proofReader">;
  /** Reads transcript rows; absent where there is no transcript to read. */
  proofReader?: () => ProofReader;
  hook: HookSide;
  /** Absent for `other`, which is joined by hand. */
  setup?: SetupSide;
};
