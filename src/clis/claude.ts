// Claude Code: shell hooks, JSONL transcripts, a peer socket for each session (claude-peer.ts).
import type { ProofReader } from "../broker/ports.ts";
import type { HookEvent } from "../protocol/constants.ts";
import { tagIds } from "../protocol/tag.ts";
import type { Ancestor, Cli, Environment, HookInput } from "./cli.ts";
import { additionalContext, claudeShaped, nearestProgram } from "./common.ts";
import { type Edit, hookCommand, type SetupPlace, withTools } from "./edits.ts";
import { asObject, contentTexts, idsOf, type Payload, parseRow, textField } from "./payload.ts";

const events: Readonly<Record<string, HookEvent>> = {
  SessionStart: "session-start",
  UserPromptSubmit: "prompt",
  PostToolUse: "post-tool",
  Stop: "stop",
  SessionEnd: "session-end",
};

/** How a pushed frame begins, and with it the prompt that it becomes; our tag must follow on the next line. */
const pushed = /^(?:Another Claude session sent a message[^\n]{0,60}:\n)?<cross-session-message [^>\n]{1,600}>\n(?=\[murmur m)/;

function parse(payload: Payload, name: string | undefined, env: Environment): HookInput | null {
  const input = claudeShaped(payload, name, events);
  if (input === null || !ours(input, env)) return null;
  const mode = textField(payload, 64, "permission_mode");
  if (mode !== undefined) input.bypass = mode === "bypassPermissions";
  if (input.event === "prompt") {
    const prompt = typeof payload.prompt === "string" ? payload.prompt : "";
    // Looked at first, since nearly no prompt is pushed and a pattern costs most at its first use.
    const head = prompt.includes("[murmur m") ? pushed.exec(prompt) : null;
    if (head) input.seen = tagIds(prompt.slice(head[0].length)).slice(0, 50);
  }
  return input;
}

/** Whether the payload belongs to the Claude that started this hook: another CLI's transcript or another session's id does not. */
function ours(input: HookInput, env: Environment): boolean {
  const path = input.transcriptPath ?? "";
  if (path.startsWith("rollout-", path.lastIndexOf("/") + 1) || path.includes("/chats/session-")) return false;
  // At the start and end of a session its id changes hands, so the variable may be the other one there.
  const settled = input.event === "prompt" || input.event === "post-tool" || input.event === "stop";
  return !(settled && env.CLAUDE_PID && env.CLAUDE_CODE_SESSION_ID && env.CLAUDE_CODE_SESSION_ID !== input.sessionId);
}

function host(ancestors: readonly Ancestor[], env: Environment): Ancestor | undefined {
  for (const ancestor of ancestors) if (ancestor.name === "claude") return ancestor;
  return ancestors.find((a) => String(a.pid) === env.CLAUDE_PID) ?? nearestProgram(ancestors);
}

/** Rows that mean that the model was given the text: a hook's context, and peer messages that were taken into a turn. */
const proofReader = (): ProofReader => (row) => {
  if (!row.includes("[murmur m")) return [];
  const parsed = parseRow(row);
  if (parsed === null || parsed.isSidechain === true) return [];
  return idsOf(provingTexts(parsed));
};

function provingTexts(row: Payload): string[] {
  if (row.type === "user") {
    if (row.isMeta !== true || asObject(row.origin)?.kind !== "peer") return [];
    return contentTexts(asObject(row.message)?.content);
  }
  const attachment = row.type === "attachment" ? asObject(row.attachment) : null;
  if (attachment === null) return [];
  if (attachment.type === "hook_additional_context") return contentTexts(attachment.content);
  if (attachment.type !== "queued_command" || asObject(attachment.origin)?.kind !== "peer") return [];
  return contentTexts(attachment.prompt ?? attachment.content);
}

function edits(place: SetupPlace): Edit[] {
  const settings = place.project ? `${place.project}/.claude/settings.json` : `${place.folder}/settings.json`;
  const servers = place.project ? `${place.project}/.mcp.json` : `${place.moved ? place.folder : place.userHome}/.claude.json`;
  const report = { type: "command", command: hookCommand(place, "claude", withTools), timeout: 10 };
  // Waits beside an idle session of a version without peer socket, for at most a day; it ends at once where there is one.
  const wake = { type: "command", command: hookCommand(place, "claude", "wake"), asyncRewake: true, timeout: 86_400 };
  const hooks = Object.keys(events).map(
    (event): Edit => ({
      kind: "hook",
      file: settings,
      path: ["hooks", event],
      client: "claude",
      value: { hooks: event === "SessionStart" || event === "Stop" ? [report, wake] : [report] },
    }),
  );
  const server = { type: "stdio", command: place.program, args: ["mcp"], env: place.env };
  return [...hooks, { kind: "value", file: servers, path: ["mcpServers", "renn"], value: server }];
}

export const claude: Cli = {
  client: "claude",
  facts: {
    conversations: "one",
    hookBudget: { unit: "utf16", max: 9500 },
    proof: "transcript",
    continuesAtStop: true,
    best: "at once through its peer socket where it has one (when idle it is woken), else at the next prompt, tool call or turn end",
  },
  proofReader,
  hook: {
    parse,
    program: /^claude$/,
    host,
    headless: (env) => env.CLAUDE_CODE_ENTRYPOINT === "sdk-cli",
    answer: (_event, name, text) => additionalContext(name, text),
    silent: "",
    answerMax: { unit: "utf16", max: 10_000 },
  },
  setup: {
    folder: { home: ".claude", env: "CLAUDE_CONFIG_DIR" },
    binary: "claude",
    after: "open sessions join when they are restarted or resumed",
    edits,
  },
};
