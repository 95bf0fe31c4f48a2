// The plain shape of a hook, for programs that renn does not know: `renn hook other EVENT` with Claude Code's field names on stdin, plain text on stdout.
import { type HookEvent, hookEvents } from "../protocol/constants.ts";
import type { HookSide } from "./cli.ts";
import { claudeShaped, nearestProgram, noWrapper } from "./common.ts";
import { present, textField } from "./payload.ts";

const events: Readonly<Record<string, HookEvent>> = Object.fromEntries(hookEvents.map((event) => [event, event]));

/** Takes the event as an argument or in the payload; `title` and `headless` as well. */
export const other: HookSide = {
  parse(payload, name) {
    const input = claudeShaped(payload, name, events);
    return input && present({ ...input, title: textField(payload, 400, "title", "session_title") });
  },
  program: noWrapper,
  host: nearestProgram,
  answer: (_event, _name, text) => `${text}\n`,
  silent: "",
  answerMax: { unit: "utf16", max: 10_000 },
};
