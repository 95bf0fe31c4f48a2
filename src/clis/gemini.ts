// Gemini CLI: shell hooks with millisecond time-outs, JSONL chats. Nothing wakes it: messages wait for the next prompt, tool call or turn end.
import type { ProofReader } from "../broker/ports.ts";
import type { HookEvent } from "../protocol/constants.ts";
import type { Cli, Environment, HookInput } from "./cli.ts";
import { additionalContext, claudeShaped, nearestProgram, noWrapper } from "./common.ts";
import { type Edit, hookCommand, type SetupPlace, withTools } from "./edits.ts";
import { asObject, idsOf, type Payload, parseRow } from "./payload.ts";

const events: Readonly<Record<string, HookEvent>> = {
  SessionStart: "session-start",
  BeforeAgent: "prompt",
  BeforeTool: "post-tool",
  AfterTool: "post-tool",
  AfterAgent: "stop",
  SessionEnd: "session-end",
};

/** The tool that runs a subagent. The hooks of that one's tool calls bear the session's id and nothing else: what they gave would be lost to the session. */
const delegateTool = "invoke_agent";

function parse(payload: Payload, name: string | undefined, env: Environment): HookInput | null {
  const input = claudeShaped(payload, name, events);
  const delegates = payload.tool_name === delegateTool;
  if (input === null || (name === "BeforeTool" && !delegates)) return null;
  if (delegates && input.event === "post-tool") input.subagents = name === "BeforeTool" ? 1 : -1;
  // In a terminal the resumed history replaces what this hook says.
  if (input.event === "session-start" && input.source === "resume") input.unheard = true;
  const other = env.GEMINI_SESSION_ID !== undefined && env.GEMINI_SESSION_ID !== input.sessionId;
  return other && input.event !== "session-start" && input.event !== "session-end" ? null : input;
}

/** A text counts once a later answer of the model, with another id, was stored. A row may be written again under its id. */
function proofReader(): ProofReader {
  const answers = new Set<string>();
  let pending: number[] = [];
  return (row) => {
    // Answers count also without a tag; all other rows need not be parsed.
    const parsed = row.includes("[murmur m") || row.includes('"gemini"') ? parseRow(row) : null;
    if (parsed?.type === "user") {
      if (pending.length < 1000) pending.push(...idsOf(userTexts(parsed)));
      return [];
    }
    if (parsed?.type !== "gemini" || typeof parsed.id !== "string" || answers.has(parsed.id)) return [];
    if (answers.size > 10_000) answers.clear();
    answers.add(parsed.id);
    // An answer whose own tool calls carry the text was made before it.
    const carried = new Set(idsOf(resultTexts(parsed.toolCalls)));
    const proven = pending.filter((id) => !carried.has(id));
    pending = pending.filter((id) => carried.has(id));
    return proven;
  };
}

const contextOpen = "<hook_context>";

/** What hooks put into a user row: its context parts, the reason of a turn end (a part that begins with our tag), and the tails of tool results. */
function userTexts(row: Payload): string[] {
  const parts = Array.isArray(row.content) ? row.content : [{ text: row.content }];
  return parts.flatMap((part) => {
    const text = asObject(part)?.text;
    if (typeof text === "string")
      return text.startsWith(contextOpen) || text.startsWith("[murmur m") ? [text.replace(contextOpen, "")] : [];
    return resultTexts([{ result: [part] }]);
  });
}

/** The context at the end of each tool result: the last one, since what tools print cannot follow it. */
function resultTexts(toolCalls: unknown): string[] {
  if (!Array.isArray(toolCalls)) return [];
  const texts: string[] = [];
  for (const call of toolCalls) {
    const results = asObject(call)?.result;
    for (const result of Array.isArray(results) ? results : []) {
      const output = asObject(asObject(asObject(result)?.functionResponse)?.response)?.output;
      const at = typeof output === "string" ? output.lastIndexOf(contextOpen) : -1;
      if (at >= 0) texts.push((output as string).slice(at + contextOpen.length));
    }
  }
  return texts;
}

function answer(event: HookEvent, name: string, text: string): string {
  return event === "stop" ? JSON.stringify({ decision: "deny", reason: text }) : additionalContext(name, text);
}

function edits(place: SetupPlace): Edit[] {
  const file = place.project ? `${place.project}/.gemini/settings.json` : `${place.folder}/settings.json`;
  const command = hookCommand(place, "gemini", withTools);
  const hooks = Object.keys(events).map(
    (event): Edit => ({
      kind: "hook",
      file,
      path: ["hooks", event],
      client: "gemini",
      value: {
        ...(event === "BeforeTool" && { matcher: delegateTool }),
        hooks: [{ name: "renn", type: "command", command, timeout: 10_000 }],
      },
    }),
  );
  const env = Object.keys(place.env).length ? { env: place.env } : {};
  return [
    ...hooks,
    { kind: "value", file, path: ["mcpServers", "renn"], value: { command: place.program, args: ["mcp"], ...env, trust: true } },
  ];
}

export const gemini: Cli = {
  client: "gemini",
  facts: {
    conversations: "one",
    hookBudget: { unit: "bytes", max: 32_000 },
    proof: "transcript",
    continuesAtStop: true,
    best: "at the next prompt, tool call or turn end; nothing wakes an idle Gemini session",
  },
  proofReader,
  hook: {
    parse,
    program: noWrapper,
    host: nearestProgram,
    headless: (_env, hostArguments) => hostArguments().some((a) => /^(?:-p|--prompt)(?:=|$)/.test(a)),
    answer,
    silent: "{}",
    answerMax: { unit: "bytes", max: 64_000 },
  },
  setup: {
    folder: { home: ".gemini" },
    binary: "gemini",
    after: "folders that Gemini does not trust run no hooks; open sessions join when they are restarted",
    edits,
  },
};
