// The plain shape of a hook, for programs that renn does not know: `renn hook other EVENT` with Claude Code's field names on stdin, plain text on stdout.
import { type HookEvent, hookEvents } from "../protocol/constants.ts";
import type { Ancestor, Environment, HookInput, HookSide } from "./cli.ts";
import { claudeShaped, isHolder, nearestProgram, ownWindow } from "./common.ts";
import { type Payload, present, textField } from "./payload.ts";

const events: Readonly<Record<HookEvent, HookEvent>> = {
  "session-start": "session-start",
  prompt: "prompt",
  "post-tool": "post-tool",
  stop: "stop",
  "session-end": "session-end",
};
const shell = /^-?(?:sh|bash|dash|zsh|fish|ksh|mksh|ash|busybox)$/;

function parse(payload: Payload, name: string | undefined): HookInput | null {
  const input = claudeShaped(payload, name, events);
  const { pid } = payload;
  const named = pid === undefined ? undefined : Number.isSafeInteger(pid) ? (pid as number) : -1;
  return input && present({ ...input, title: textField(payload, 400, "title", "session_title"), pid: named });
}

function mistake(payload: Payload, name: string | undefined): string | undefined {
  if (!name || !Object.hasOwn(events, name)) return `the event must be one of ${hookEvents.join(", ")}`;
  if (textField(payload, 200, "session_id", "sessionId") === undefined) return "session_id must be a text of 1 to 200 characters";
  return undefined;
}

/**
 * The process that the payload names, if it is above the hook; else the nearest program of this window; else the shell that called: the nearest that
 * leads its process group, since a shell that does not is a part of another one (`$(…)`) and about to end.
 */
function host(ancestors: readonly Ancestor[], _env: Environment, pid?: number): Ancestor | undefined {
  if (pid !== undefined) return ancestors.find((a) => a.pid === pid && !isHolder(a));
  const shells = ownWindow(ancestors).filter((a) => shell.test(a.name));
  return nearestProgram(ancestors) ?? shells.find((a) => a.pid === a.group) ?? shells.at(-1);
}

/** Takes the event as an argument or in the payload; `title`, `pid` and `headless` as well. */
export const other: HookSide = {
  parse,
  mistake,
  host,
  answer: (_event, _name, text) => `${text}\n`,
  silent: "",
  answerMax: { unit: "utf16", max: 10_000 },
};
