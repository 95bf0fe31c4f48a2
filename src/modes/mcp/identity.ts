// Whose call it is (semantics §11, issue "each call acts as its own session's handle"): every CLI tells it in its own way, and where none does, nobody is guessed.
import { join } from "node:path";
import type { ClientName } from "../../protocol/constants.ts";
import { handlePattern } from "../../protocol/constants.ts";
import { processTree, type System } from "../../system.ts";

/** What a call brings along that can tell whose it is. */
export type Caller = {
  /** `clientInfo.name` of the MCP client. */
  program: string;
  /** `_meta` of the request. */
  meta: Readonly<Record<string, unknown>>;
  /** The argument `renn_session`, which renn's opencode plugin adds behind the model's back. */
  session: unknown;
};

/**
 * Where to look for the caller's session on the bus: by the id that its CLI gave it, or by the processes above this server, nearest first.
 * `clients` are the CLIs that such a process may belong to. `alone`: this server has one session at a time, else it serves many.
 */
export type Identity =
  | { kind: "session"; client: ClientName; sessionId: string; ancestors: number[]; alone: boolean }
  | { kind: "ancestors"; ancestors: number[]; clients: readonly ClientName[] };

/** The machine as identification needs it. */
export type Surroundings = {
  env: Readonly<Record<string, string | undefined>>;
  parentPid: number;
  system: Pick<System, "parent" | "processStart">;
};

/** A call whose session cannot be known: nothing is done, and the message says what would make it known. */
export class UnknownCaller extends Error {}

const sessionIdMax = 200;
/** CLIs that are found by what started this server. The others say by themselves who calls, and are never matched by process. */
const byProcess: readonly ClientName[] = ["zcode", "hummin", "other"];

const sessionId = (value: unknown): string | null =>
  typeof value === "string" && value.length > 0 && value.length <= sessionIdMax ? value : null;

/** Tells whose call this is, or throws UnknownCaller. Claude Code's registry is read at each call, because /clear changes the session. */
export async function identify(caller: Caller, around: Surroundings): Promise<Identity> {
  if (caller.program.startsWith("codex") || caller.meta["x-codex-turn-metadata"] !== undefined) return codexIdentity(caller);
  if (caller.program === "opencode" || around.env.OPENCODE_PID === String(around.parentPid)) return opencodeIdentity(caller);
  const tree = processTree(around.system, around.parentPid);
  const ancestors = tree.map((process) => process.pid);
  if (caller.program.startsWith("claude-code")) {
    const found = await claudeSession(tree, around.env);
    if (found) return { kind: "session", client: "claude", sessionId: found, ancestors, alone: true };
    return { kind: "ancestors", ancestors, clients: ["claude"] };
  }
  return { kind: "ancestors", ancestors, clients: caller.program.startsWith("gemini-cli") ? ["gemini"] : byProcess };
}

function codexIdentity(caller: Caller): Identity {
  const id = sessionId(caller.meta.threadId);
  if (id) return { kind: "session", client: "codex", sessionId: id, ancestors: [], alone: false };
  throw new UnknownCaller("this Codex sends no threadId with its tool calls, so renn cannot know which session asks; update Codex");
}

function opencodeIdentity(caller: Caller): Identity {
  const id = sessionId(caller.session);
  if (id) return { kind: "session", client: "opencode", sessionId: id, ancestors: [], alone: false };
  throw new UnknownCaller(
    "one opencode process holds many sessions, and renn's plugin, which tells which one asks, is not loaded; run `renn init --client opencode` and restart opencode",
  );
}

/** The current session of the nearest ancestor that has a live entry in Claude Code's registry (same pid, same start time). */
async function claudeSession(tree: { pid: number; start: string }[], env: Surroundings["env"]): Promise<string | null> {
  const folder = env.CLAUDE_CONFIG_DIR || join(env.HOME || "/", ".claude");
  for (const { pid, start } of tree) {
    const entry = await readEntry(join(folder, "sessions", `${pid}.json`));
    if (entry && entry.pid === pid && String(entry.procStart) === start) return sessionId(entry.sessionId);
  }
  return null;
}

const entryBytesMax = 65_536;

async function readEntry(path: string): Promise<Record<string, unknown> | null> {
  try {
    const file = Bun.file(path);
    // A pipe would block for ever, and no entry is long.
    if (!(await file.stat()).isFile() || file.size > entryBytesMax) return null;
    const entry: unknown = await file.json();
    return typeof entry === "object" && entry !== null ? (entry as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/** The handle that the user set for this server in `RENN_HANDLE`; it counts only where no session is found. */
export function pinnedHandle(env: Surroundings["env"]): string | null {
  const handle = env.RENN_HANDLE;
  if (!handle) return null;
  if (new RegExp(handlePattern).test(handle)) return handle;
  throw new UnknownCaller(`RENN_HANDLE is ${JSON.stringify(handle.slice(0, 64))}, which is no handle (${handlePattern})`);
}
