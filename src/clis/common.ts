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

/** What holds windows, logins or services of many programs: multiplexers, terminals, login servers, init systems and timers. It is never a session. */
const holder = new RegExp(
  `^(?:${[
    "tmux.*|tmate|screen|zellij|dtach|abduco|script|ttyd|login|sshd.*|dropbear|mosh-server|.*[-_]terminal.*|Terminal|terminator|tilix|konsole",
    "yakuake|guake|xterm|u?rxvt.*|st|foot|kitty|alacritty|ghostty|wezterm.*|iTerm.*|ptyxis.*|kgx|Relay.*|SessionLeader|init|systemd.*|launchd",
    "tini|dumb-init|docker-init|containerd-shim.*|conmon|runsv|supervise|supervisord|crond?|atd",
  ].join("|")})$`,
  "i",
);

/**
 * The ancestors that belong to the hook's own window: up to the first process that holds windows or logins, by its name, or because what it runs has a
 * terminal that it is not in itself (an editor's terminal, for one).
 */
export function ownWindow(ancestors: readonly Ancestor[]): readonly Ancestor[] {
  const end = ancestors.findIndex((a, i) => isHolder(a) || (ancestors[i - 1]?.tty && ancestors[i - 1]?.tty !== a.tty));
  return end < 0 ? ancestors : ancestors.slice(0, end);
}

/** Whether the process holds others' windows or logins. */
export function isHolder(ancestor: Ancestor): boolean {
  return holder.test(ancestor.name);
}

/** The nearest ancestor that is no shell or wrapper, and no holder of windows: beyond one there is only somebody else's. */
export function nearestProgram(ancestors: readonly Ancestor[]): Ancestor | undefined {
  return ownWindow(ancestors).find((a) => noWrapper.test(a.name));
}

/** `hookSpecificOutput.additionalContext`, as Claude Code made it. */
export function additionalContext(eventName: string, text: string): string {
  return JSON.stringify({ hookSpecificOutput: { hookEventName: eventName, additionalContext: text } });
}
