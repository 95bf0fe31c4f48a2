// Every error code of the wire with its meaning and the exit status that `renn` ends with.

/** Codes of the protocol page: what each means, whether the connection ends with it, and the exit status of a command that meets it. */
export const errorCodes = {
  auth_required: { summary: "The first line of a connection must be auth with the token.", fatal: false, exit: 3 },
  bad_token: { summary: "The token is not this broker's; the connection is closed.", fatal: true, exit: 3 },
  broker_closed: { summary: "The broker is stopping; the request may be sent again to the next one.", fatal: true, exit: 3 },
  broker_down: { summary: "No broker answers on the socket (made by the client, never sent by the broker).", fatal: true, exit: 3 },
  unknown_handle: { summary: "No peer has this handle.", fatal: false, exit: 1 },
  unknown_group: { summary: "No group has this name.", fatal: false, exit: 1 },
  unknown_thread: { summary: "No thread has this id.", fatal: false, exit: 1 },
  unknown_message: { summary: "No message has this id, or it is not the caller's delivery.", fatal: false, exit: 1 },
  duplicate: { summary: "The same message was sent within the duplicate window; messageId names it.", fatal: false, exit: 1 },
  rate_limited: { summary: "Too many messages in the window; retryAfterMs says when there is room.", fatal: false, exit: 1 },
  cap_thread: { summary: "The thread holds as many messages as it may; open a new one.", fatal: false, exit: 1 },
  cap_inbox: { summary: "A recipient has too many unread messages; handles names them.", fatal: false, exit: 1 },
  bad_request: { summary: "The line or a field of it is not what the protocol says; the message names it.", fatal: false, exit: 1 },
  timeout: { summary: "No answer came in time (made by the client).", fatal: false, exit: 4 },
  native_failed: { summary: "The session's own socket cannot be used.", fatal: false, exit: 1 },
  internal: { summary: "The broker failed; nothing of the request was stored. Its log has the cause.", fatal: false, exit: 1 },
} as const;

export type ErrorCode = keyof typeof errorCodes;

/** More that an error may carry (semantics §2). Unknown to clients of the plain protocol, who ignore it. */
export type ErrorData = {
  retryAfterMs?: number;
  messageId?: number;
  handle?: string;
  handles?: string[];
  suggestions?: string[];
  /** Made by the client: what keeps the broker away is a sandbox (exit status 5). */
  sandbox?: true;
};

/** What the other side did wrong, or what came back from the broker: a code of the protocol, a sentence for the reader, and data. */
export class ProtocolError extends Error {
  readonly code: ErrorCode;
  readonly data: ErrorData | undefined;
  constructor(code: ErrorCode, message: string, data?: ErrorData) {
    super(message);
    this.name = "ProtocolError";
    this.code = code;
    this.data = data;
  }
}
