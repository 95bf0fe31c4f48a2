// What a hook says to the broker, and what it makes of the answer.
import type { Ancestor, HookInput, HookSide } from "../../clis/cli.ts";
import { asObject, type Payload } from "../../clis/payload.ts";
import type { ClientName, HookEvent, SessionEvent } from "../../protocol/constants.ts";
import { requestLine } from "../../protocol/frames.ts";
import { version } from "../../version.ts";

/** Between tool calls the session is in the middle of a turn, which is what `prompt` says. */
const reported: Readonly<Record<HookEvent, SessionEvent>> = {
  "session-start": "session-start",
  prompt: "prompt",
  "post-tool": "prompt",
  stop: "stop",
  "session-end": "session-end",
};

/** The lines after auth: what the session did and, unless it ended, what waits for it. Ids go on from 2. */
export function requestLines(
  client: ClientName,
  input: HookInput,
  host: Pick<Ancestor, "pid" | "start">,
  headless: boolean | undefined,
  tools = false,
): string[] {
  const { event, sessionId, continuing, seen, subagents, unheard, pid: _pid, ...rest } = input;
  const session = requestLine(2, "session", {
    ...rest,
    event: reported[event],
    client,
    cliSessionId: sessionId,
    host: { hostPid: host.pid, hostStart: host.start },
    headless,
    version,
  });
  return event === "session-end" || unheard
    ? [session]
    : [session, requestLine(3, "hook", { event, client, continuing, seen, subagents, ...(tools && { tools }) })];
}

/** The broker's hook payload as one text for the session; empty where there is nothing to say. */
export function answerText(event: HookEvent, result: Payload | null, max: HookSide["answerMax"]): string {
  if (result === null || event === "session-end" || (event === "stop" && result.block !== true)) return "";
  const texts = strings(result.texts);
  const intro = typeof result.intro === "string" && result.intro ? [result.intro] : [];
  const lines = [...notificationLines(result.notifications), ...moreLine(result.more)];
  const whole = [...intro, ...texts, ...(lines.length ? [lines.join("\n")] : [])].join("\n\n");
  // The broker measured the messages; what stands around them gives way where all together is too much.
  return size(whole, max) <= max.max ? whole : texts.join("\n\n") || intro.join("\n\n");
}

function size(text: string, { unit }: HookSide["answerMax"]): number {
  return unit === "utf16" ? text.length : new TextEncoder().encode(text).length;
}

function strings(value: unknown): string[] {
  const texts: string[] = [];
  if (Array.isArray(value)) for (const text of value) if (typeof text === "string") texts.push(text);
  return texts;
}

function moreLine(more: unknown): string[] {
  if (typeof more !== "number" || more < 1) return [];
  return [
    `renn: ${more} more ${more === 1 ? "message waits" : "messages wait"} for this session and will come at its next prompt or tool call`,
  ];
}

function notificationLines(value: unknown): string[] {
  const lines: string[] = [];
  if (!Array.isArray(value)) return lines;
  for (const item of value) {
    const line = notificationLine(asObject(item) ?? {});
    if (line) lines.push(line);
  }
  return lines;
}

function notificationLine(n: Payload): string {
  const thread = typeof n.threadId === "number" ? ` (thread ${n.threadId})` : "";
  if (n.kind === "reply_arrived") return `renn: ${n.fromHandle} replied${thread}`;
  if (n.kind === "queued_delivered") return `renn: ${n.fromHandle} has now received your message${thread}`;
  if (n.kind === "peer_offline") return `renn: ${n.fromHandle} left without answering${thread}`;
  if (n.throttled === true)
    return `renn: you and ${n.fromHandle} answer each other often${thread}; further replies are kept, but wake nobody`;
  return "";
}
