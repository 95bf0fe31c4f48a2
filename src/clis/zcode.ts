// ZCode: hooks after Claude Code's model under a strict schema (an unknown event or key makes its whole configuration invalid). Read, never run here.
import type { HookEvent } from "../protocol/constants.ts";
import type { Cli, HookInput } from "./cli.ts";
import { additionalContext, claudeShaped, nearestProgram, noWrapper } from "./common.ts";
import { type Edit, type SetupPlace, withTools } from "./edits.ts";
import type { Payload } from "./payload.ts";

/** No SessionEnd here: it would make the file invalid. The end of a session is the end of its process. */
const events: Readonly<Record<string, HookEvent>> = {
  SessionStart: "session-start",
  UserPromptSubmit: "prompt",
  PostToolUse: "post-tool",
  Stop: "stop",
};

function parse(payload: Payload, name: string | undefined): HookInput | null {
  const input = claudeShaped(payload, name, events);
  // The path in the payload is a temporary file with the answers alone: no proof can come of it.
  delete input?.transcriptPath;
  return input;
}

/** On Stop `{"continue":true}` would ask for another turn; only a block does what we want, and silence lets it stop. */
function answer(event: HookEvent, name: string, text: string): string {
  return event === "stop" ? JSON.stringify({ decision: "block", reason: text }) : additionalContext(name, text);
}

function edits(place: SetupPlace): Edit[] {
  const file = place.project ? `${place.project}/.zcode/config.json` : `${place.folder}/config.json`;
  const variables = Object.entries(place.env).map(([k, v]) => `${k}=${v}`);
  const [command, ...args] = [...(variables.length ? ["/usr/bin/env", ...variables] : []), place.program, "hook", "zcode", withTools];
  const hooks = Object.keys(events).map(
    (event): Edit => ({
      kind: "hook",
      file,
      path: ["hooks", "events", event],
      client: "zcode",
      value: { hooks: [{ type: "process", command, args, timeoutMs: 10_000 }] },
    }),
  );
  const server = { type: "stdio", command: place.program, args: ["mcp"], env: place.env, enabled: true };
  return [
    { kind: "value", file, path: ["hooks", "enabled"], value: true, keep: true },
    ...hooks,
    { kind: "value", file, path: ["mcp", "servers", "renn"], value: server },
  ];
}

export const zcode: Cli = {
  client: "zcode",
  facts: {
    conversations: "one",
    hookBudget: { unit: "bytes", max: 32_000 },
    proof: "none",
    continuesAtStop: true,
    best: "at the next prompt, tool call or turn end; nothing wakes an idle ZCode session, and nothing proves what its model saw",
  },
  hook: {
    parse,
    program: noWrapper,
    host: nearestProgram,
    answer,
    silent: "",
    answerMax: { unit: "bytes", max: 32_700 },
  },
  setup: {
    folder: { home: ".zcode/cli", sign: ".zcode" },
    binary: "zcode",
    after: "made after ZCode's published schema, never run with ZCode itself; a session is known from its first turn on",
    edits,
  },
};
