// What several CLIs share: they copied Claude Code's hook payload, and their hooks hang under the same shells.
import type { HookEvent } from "../protocol/constants.ts";
import type { Ancestor, HookInput, Source } from "./cli.ts";
import { type Payload, present, textField } from "./payload.ts";

/** Limits of the wire's `session` fields, in UTF-16 units. */
const idMax = 200;
const pathMax = 4096;
const titleMax = 400;
const sources: readonly string[] = ["startup", "resume", "clear", "compact", "fork"];

/** The payload that Claude Code made: `session_id`, `hook_event_name` and so on, under renn's event names. */
export function claudeShaped(
  payload: Payload,
  eventName: string | undefined,
  events: Readonly<Record<string, HookEvent>>,
): HookInput | null {
  const event = eventName !== undefined && Object.hasOwn(events, eventName) ? events[eventName] : undefined;
  const sessionId = textField(payload, idMax, "session_id", "sessionId");
  if (event === undefined || sessionId === undefined || ofSubagent(payload)) return null;
  const source = textField(payload, 16, "source");
  return present<HookInput>({
    event,
    sessionId,
    transcriptPath: textField(payload, pathMax, "transcript_path", "transcriptPath"),
    title: textField(payload, titleMax, "session_title"),
    cwd: textField(payload, pathMax, "cwd"),
    source: event === "session-start" && source !== undefined && sources.includes(source) ? (source as Source) : undefined,
    continuing: payload.stop_hook_active === true || payload.stopHookActive === true ? true : undefined,
  });
}

/** A subagent's hook carries its parent's session id: what is injected there would be lost to the parent. */
function ofSubagent(payload: Payload): boolean {
  return payload.agent_id !== undefined || payload.agentId !== undefined || payload.parentID !== undefined;
}

/** The event that the argument or the payload names. */
export function eventName(payload: Payload, argument: string | undefined): string | undefined {
  return textField(payload, 64, "hook_event_name", "hookEventName", "event") ?? argument;
}

/** The name of a process that is no shell and no wrapper of commands. */
export const noWrapper = /^(?!-?(?:sh|bash|dash|zsh|fish|ksh|mksh|ash|busybox|env|timeout|nice|setsid|sudo)$)/;

/** The nearest ancestor that is no shell or wrapper. */
export function nearestProgram(ancestors: readonly Ancestor[]): Ancestor | undefined {
  return ancestors.find((a) => noWrapper.test(a.name));
}

/** `hookSpecificOutput.additionalContext`, as Claude Code made it. */
export function additionalContext(eventName: string, text: string): string {
  return JSON.stringify({ hookSpecificOutput: { hookEventName: eventName, additionalContext: text } });
}
