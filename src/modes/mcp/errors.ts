// What a model is told when a call fails: the code of the protocol, what is wrong, and what to do now.
import { type ErrorCode, ProtocolError } from "../../protocol/errors.ts";
import { harmless, harmlessLine } from "../../protocol/text.ts";
import { UnknownCaller } from "./identity.ts";

const advice: Partial<Record<ErrorCode, string>> = {
  unknown_handle: "status lists the peers.",
  unknown_group: "groups with action list lists the groups.",
  unknown_thread: "thread without arguments lists recent threads.",
  unknown_message: "inbox and thread show the ids.",
  cap_thread: "Send without threadId to open a new thread.",
  cap_inbox: "Leave them out, or try again when they have read.",
  duplicate: "It need not be sent again.",
  broker_down: "Nothing was done. The user can run `renn doctor` in a terminal.",
  broker_closed: "The broker went away; try again.",
  timeout: "Look with thread whether it took effect before you try again.",
  internal: "Nothing was stored. The user can run `renn broker logs`.",
};

/** A failed call as text. Anything that is neither the broker's refusal nor an unknown caller is `internal`. */
export function errorText(error: unknown): string {
  if (error instanceof UnknownCaller) return `unknown_session: ${error.message}. Nothing was done.`;
  if (!(error instanceof ProtocolError)) return `internal: ${harmlessLine(error instanceof Error ? error.message : String(error))}`;
  const { code, message, data } = error;
  const more = [
    data?.suggestions?.length ? `Did you mean ${data.suggestions.map(harmlessLine).join(" or ")}?` : "",
    data?.messageId ? `It is m${data.messageId}.` : "",
    data?.retryAfterMs ? `Try again in ${Math.ceil(data.retryAfterMs / 1000)} s; one longer message is better than many.` : "",
    advice[code] ?? "",
  ];
  return [`${code}: ${harmless(message).replace(/\.?$/, ".")}`, ...more].filter(Boolean).join(" ");
}
