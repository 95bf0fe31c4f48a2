// Codex: shell hooks that must be trusted, rollouts that say what was sampled, an app-server control socket (codex-server.ts).
import type { ProofReader } from "../broker/ports.ts";
import type { HookEvent } from "../protocol/constants.ts";
import type { Ancestor, Cli, HookInput } from "./cli.ts";
import { additionalContext, claudeShaped, nearestProgram } from "./common.ts";
import { type Edit, hookCommand, type SetupPlace, withTools } from "./edits.ts";
import { asObject, contentTexts, idsOf, type Payload, parseObject, parseRow, textField } from "./payload.ts";

const events: Readonly<Record<string, HookEvent>> = {
  SessionStart: "session-start",
  UserPromptSubmit: "prompt",
  PostToolUse: "post-tool",
  Stop: "stop",
  SessionEnd: "session-end",
};

/** The neutral input of a pushed turn: the messages themselves come beside it as untrusted context. */
export function pushedInput(ids: readonly number[]): string {
  return `renn: new from other agents: ${ids.map((id) => `m${id}`).join(", ")}`;
}

function parse(payload: Payload, name: string | undefined): HookInput | null {
  const input = claudeShaped(payload, name, events);
  if (input === null) return null;
  const file = input.transcriptPath?.split("/").at(-1);
  if (file !== undefined && !file.startsWith("rollout-")) return null;
  // `permission_mode: bypassPermissions` only means here that nothing is asked (approval "never"): Codex holds no peer's text, so it is no bypass in
  // renn's sense. And a prompt of our own proves nothing yet: its turn may be aborted before the model is asked.
  return input;
}

function host(ancestors: readonly Ancestor[]): Ancestor | undefined {
  return ancestors.find((a) => a.name.startsWith("codex")) ?? nearestProgram(ancestors);
}

/** The user's name for a thread: Codex names threads by itself too, in the same file, so only a name that replaced another counts. */
function title(input: HookInput, read: (path: string, bytes: number) => string): string | undefined {
  const home = input.event === "prompt" ? input.transcriptPath?.split("/sessions/")[0] : undefined;
  if (!home || home === input.transcriptPath) return undefined;
  const index = read(`${home}/session_index.jsonl`, 262_144);
  const names: string[] = [];
  for (const line of index.split("\n")) {
    const row = line.includes(input.sessionId) ? parseObject(line) : null;
    const name = row?.id === input.sessionId ? textField(row, 400, "thread_name") : undefined;
    if (name !== undefined && names.at(-1) !== name) names.push(name);
  }
  return names.length > 1 ? names.at(-1) : undefined;
}

/** A text counts once a later row was sampled through it; a turn that was aborted before its model request never does. */
function proofReader(): ProofReader {
  let pending: { ids: number[]; sequence: number }[] = [];
  return (row) => {
    if (!row.includes("[murmur m") && !(pending.length && row.includes("sampled_through_sequence"))) return [];
    const parsed = parseRow(row);
    if (parsed?.type !== "response_item") return [];
    const metadata = asObject(parsed.metadata);
    const sampled = numberOf(metadata?.sampled_through_sequence);
    const proven = pending.filter((p) => p.sequence <= sampled);
    if (proven.length) pending = pending.filter((p) => p.sequence > sampled);
    const ids = idsOf(shownTexts(asObject(parsed.payload)));
    const sequence = metadata?.history_sequence;
    if (ids.length && typeof sequence === "number" && pending.length < 1000) pending.push({ ids, sequence });
    return proven.flatMap((p) => p.ids);
  };
}

function numberOf(value: unknown): number {
  return typeof value === "number" ? value : Number.NEGATIVE_INFINITY;
}

/** Texts of a row that only a hook or a push can have put there; what the user typed, tools printed or the model wrote is left out. */
function shownTexts(payload: Payload | null): string[] {
  if (payload === null) return [];
  if (payload.type === "function_call_output")
    return payload.name === "renn" && payload.namespace === "agent" && payload.call_id === undefined ? contentTexts(payload.output) : [];
  if (payload.type !== "message") return [];
  const texts = contentTexts(payload.content);
  const passed = asObject(payload.internal_chat_message_metadata_passthrough);
  if (payload.role === "developer") return fromHook(passed, texts);
  return payload.role === "user"
    ? texts.filter((t) => t.startsWith("<hook_prompt ")).map((t) => t.replace(/^<hook_prompt [^>]*>/, ""))
    : [];
}

/** Parts of a developer message that hooks or an additional context made; all of them where the row does not say. */
function fromHook(passed: Payload | null, texts: string[]): string[] {
  const kinds = passed?.content_item_kinds;
  if (!Array.isArray(kinds) || kinds.length !== texts.length) return texts;
  return texts.filter((_, i) => kinds[i] === "hooks.additional_context" || kinds[i] === "additional_content.renn");
}

function answer(event: HookEvent, name: string, text: string): string {
  return event === "stop" ? JSON.stringify({ decision: "block", reason: text }) : additionalContext(name, text);
}

function edits(place: SetupPlace): Edit[] {
  const folder = place.project ? `${place.project}/.codex` : place.folder;
  const hooksFile = `${folder}/hooks.json`;
  const config = `${folder}/config.toml`;
  const command = hookCommand(place, "codex", withTools);
  const hooks = Object.keys(events).map(
    (event): Edit => ({
      kind: "hook",
      file: hooksFile,
      path: ["hooks", event],
      client: "codex",
      // A session end is cut at 3 s, with a warning to the user where more was asked for.
      value: { hooks: [{ type: "command", command, timeout: event === "SessionEnd" ? 3 : 10 }] },
    }),
  );
  const env = Object.entries(place.env).map(([k, v]) => `${k} = ${JSON.stringify(v)}\n`);
  const server =
    `[mcp_servers.renn]\ncommand = ${JSON.stringify(place.program)}\nargs = ["mcp"]\ndefault_tools_approval_mode = "approve"\n` +
    (env.length ? `\n[mcp_servers.renn.env]\n${env.join("")}` : "");
  return [
    ...hooks,
    { kind: "toml", file: config, table: ["mcp_servers", "renn"], text: server },
    { kind: "codex-trust", file: `${place.folder}/config.toml`, hooksFile, client: "codex" },
  ];
}

export const codex: Cli = {
  client: "codex",
  facts: {
    conversations: "many",
    hookBudget: { unit: "bytes", max: 7500 },
    proof: "transcript",
    continuesAtStop: true,
    best: "at once through the app-server's control socket where it has one (when idle it is woken), else at the next prompt, tool call or turn end",
  },
  proofReader,
  hook: {
    parse,
    program: /^codex/,
    host,
    headless: (_env, hostArguments) =>
      hostArguments()
        .slice(1)
        .some((a) => a === "exec" || a === "e"),
    title,
    answer,
    silent: "",
    answerMax: { unit: "bytes", max: 8500 },
  },
  setup: {
    folder: { home: ".codex", env: "CODEX_HOME" },
    binary: "codex",
    after:
      "its hooks are entered as trusted in config.toml; open sessions join when they are restarted (with the daemon: codex app-server daemon restart)",
    edits,
  },
};
