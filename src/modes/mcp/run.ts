// What each tool does: one request of the bus, and the answer as text and data. The broker checks the arguments and names what is wrong with them.
import { ProtocolError } from "../../protocol/errors.ts";
import type { RequestType, Result } from "../../protocol/schemas.ts";
import { again, type Peer } from "./bus.ts";
import { collectData, groupsData, inboxData, messagesData, statusData, threadsData, waitData } from "./data.ts";
import { collectText, groupsText, inboxText, messagesText, sentText, statusText, threadsText, waitText } from "./present.ts";

/** One tool call. */
export type ToolCall = {
  peer: Peer;
  args: Readonly<Record<string, unknown>>;
  /** Idempotency key of this call: tried again after a lost connection, a message is stored once. */
  key: string;
  /** Aborted when the client cancels the call. */
  signal: AbortSignal;
  /** Tells the client how a wait stands: seconds done, seconds in all, a sentence. Null where it did not ask for it. */
  progress: ((done: number, total: number, message: string) => void) | null;
  /** Runs `then` when the answer of this call has been written to the client; never when it is not. */
  whenAnswered: (then: () => void) => void;
};

/** A tool's answer: for the model to read, and the same as data. */
export type ToolAnswer = { text: string; data: object };
type Run = (call: ToolCall) => Promise<ToolAnswer>;

/** Clients move calls of more than two minutes to the background. */
const waitMsDefault = 110_000;
const waitMsMax = 300_000;
const progressMs = 5_000;

/** Asks the broker with a model's arguments as they are; it refuses what does not fit. */
function ask<T extends RequestType>(call: ToolCall, type: T, fields: object): Promise<Result<T>> {
  return call.peer.call(type, fields as never);
}

const send: Run = async (call) => {
  const result = await ask(call, "send", { threadId: null, ...call.args, key: call.key });
  return { text: sentText(result), data: result };
};

const reply: Run = async (call) => {
  const result = await ask(call, "reply", { ...call.args, key: call.key });
  return { text: sentText(result), data: result };
};

const collect: Run = async (call) => {
  const result = await ask(call, "collect", call.args);
  return { text: collectText(result), data: collectData(result, Date.now()) };
};

const inbox: Run = async (call) => {
  const result = await ask(call, "inbox", { unreadOnly: true, ...call.args });
  return { text: inboxText(result, Date.now()), data: inboxData(result, Date.now()) };
};

const read: Run = async (call) => {
  const result = await ask(call, "read", call.args);
  return { text: messagesText(result.messages, Date.now()), data: messagesData(result, Date.now()) };
};

const thread: Run = async (call) => {
  if (call.args.threadId === undefined) {
    if (Object.keys(call.args).length) throw new ProtocolError("bad_request", "threadId must be given with the other arguments of thread");
    const result = await ask(call, "threads", {});
    return { text: threadsText(result, Date.now()), data: threadsData(result, Date.now()) };
  }
  const result = await ask(call, "thread", call.args);
  const rest = result.more ? `\n\nThere is more: call thread with sinceSeq ${result.nextSeq ?? 0}.` : "";
  return { text: messagesText(result.messages, Date.now()) + rest, data: messagesData(result, Date.now()) };
};

const ack: Run = async (call) => {
  const result = await ask(call, "ack", call.args);
  return { text: `Acknowledged: ${result.acknowledged.map((id) => `m${id}`).join(", ")}.`, data: result };
};

const groups: Run = async (call) => {
  const result = await ask(call, "groups", call.args);
  return { text: groupsText(result), data: groupsData(result, Date.now()) };
};

const status: Run = async (call) => {
  const [you, result] = await Promise.all([call.peer.call("whoami", {}), ask(call, "status", { live: true, ...call.args })]);
  return { text: statusText(you, result), data: statusData(you, result) };
};

const wait: Run = async (call) => {
  const { timeoutMs = waitMsDefault, ...rest } = call.args;
  if (typeof timeoutMs !== "number")
    throw new ProtocolError("bad_request", `timeoutMs must be a number of milliseconds, and is ${JSON.stringify(timeoutMs)}`);
  const totalMs = Math.min(timeoutMs, waitMsMax);
  const stop = reportProgress(call, totalMs);
  try {
    const result = await waitOnce(call, { until: "all_replied", ...rest, early: true, confirm: true }, performance.now() + totalMs);
    return { text: waitText(result), data: waitData(result) };
  } finally {
    stop();
  }
};

/**
 * Waits on a connection of its own: closing it is how a wait is cancelled, and nothing else stands still behind it. What it brought is confirmed
 * when the client has the answer; until then the broker would give it out again. After a broker restart it goes on for the rest of the time.
 */
async function waitOnce(call: ToolCall, fields: object, deadline: number): Promise<Result<"wait">> {
  return again(async () => {
    const client = await call.peer.separate();
    const cancel = () => client.close();
    call.signal.addEventListener("abort", cancel);
    if (call.signal.aborted) cancel();
    try {
      const timeoutMs = Math.max(0, Math.round(deadline - performance.now()));
      const result = await client.call("wait", { ...fields, timeoutMs } as never);
      const ids = result.replies.map((reply) => reply.id);
      if (!ids.length) client.close();
      else
        call.whenAnswered(
          () =>
            void client
              .call("delivered", { ids })
              .catch(() => {})
              .finally(cancel),
        );
      return result;
    } catch (error) {
      client.close();
      call.signal.throwIfAborted();
      throw error;
    }
  });
}

/** Tells the client every few seconds who has answered; returns how to stop it. */
function reportProgress({ peer, args, progress }: ToolCall, totalMs: number): () => void {
  if (!progress) return () => {};
  const start = performance.now();
  let stopped = false;
  const report = async () => {
    const fields = { threadId: args.threadId, ...(args.messageId === undefined ? {} : { messageId: args.messageId }) };
    const { recipients } = await peer.call("collect", fields as never);
    const missing = recipients.filter((row) => row.replyMessageId === null).map((row) => row.handle);
    const done = Math.min(totalMs, performance.now() - start) / 1000;
    // After the answer there is no request any more that the progress could belong to.
    if (!stopped)
      progress(
        done,
        totalMs / 1000,
        `${recipients.length - missing.length} of ${recipients.length} replied; waiting for ${missing.slice(0, 8).join(", ")}`,
      );
  };
  const quietly = () => void report().catch(() => {});
  quietly();
  const timer = setInterval(quietly, progressMs);
  return () => {
    stopped = true;
    clearInterval(timer);
  };
}

/** Every tool by name. */
export const runs: Readonly<Record<string, Run>> = { send, reply, wait, collect, inbox, read, thread, ack, groups, status };
