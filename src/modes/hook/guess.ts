// Whose payload this is, where the hook's entry does not say.
import type { Cli } from "../../clis/cli.ts";
import { cliOf } from "../../clis/index.ts";
import { type Payload, textField } from "../../clis/payload.ts";

/** The CLI that a payload looks like; Claude Code's shape is what is left. */
export function guessClient(payload: Payload): Cli {
  return cliOf(name(payload)) as Cli;
}

function name(payload: Payload): string {
  const event = textField(payload, 64, "hook_event_name") ?? "";
  const transcript = textField(payload, 4096, "transcript_path") ?? "";
  if (/^(?:Before|After)(?:Agent|Tool|Model)/.test(event) || transcript.includes("/chats/session-")) return "gemini";
  if (transcript.includes("/rollout-")) return "codex";
  if (payload.hookEventName !== undefined) return "zcode";
  return event === "" ? "other" : "claude";
}
