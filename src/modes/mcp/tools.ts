// The tools as a client lists them. Names, fields and results come from the wire's schemas; the words are for a model that must choose.
import { requests } from "../../protocol/schemas.ts";
import { type Arguments, argumentSchema, type ObjectSchema, resultSchema } from "./schema.ts";

/** Hints by which CLIs decide whether to ask the user first. Codex runs read-only tools, and those neither destructive nor open-world, without asking. */
const reads = { readOnlyHint: true };
const writes = { destructiveHint: false, openWorldHint: false };
const writesOnce = { ...writes, idempotentHint: true };

/** One tool of `tools/list`. */
export type ToolDefinition = {
  name: string;
  description: string;
  inputSchema: ObjectSchema;
  outputSchema: ObjectSchema;
  annotations: Record<string, boolean>;
};

const { send, reply, wait, collect, inbox, read, thread, threads, ack, groups, status } = requests;

function tool(
  name: string,
  description: string,
  inputSchema: ObjectSchema,
  outputSchema: ObjectSchema,
  annotations: ToolDefinition["annotations"],
): ToolDefinition {
  return { name, description, inputSchema, outputSchema, annotations };
}

const sendArguments: Arguments = {
  to: "handles, groups, @all",
  body: "",
  threadId: "continues it; else a new one",
  references: "paths or URLs",
  mode: "push (default) wakes, notify is one line at the next turn, silent waits in the inbox",
};
const waitArguments: Arguments = {
  threadId: "",
  until: "default all_replied",
  timeoutMs: "default 110000; 0 looks once",
  messageId: "an earlier ask",
};
const threadArguments: Arguments = {
  threadId: "none: lists recent threads",
  sinceSeq: "only later ones",
  full: "whole bodies",
  messageId: "only it and its replies, with bodies",
};

/** Every tool, in the order in which a model should think of them. */
export const tools: readonly ToolDefinition[] = [
  tool(
    "send",
    "Message other agents or the owner. Says how soon each can see it. Then `wait` for answers.",
    argumentSchema(send.fields, sendArguments, ["threadId"]),
    resultSchema(send.result),
    writes,
  ),
  tool(
    "reply",
    "Answer a message. Only its author is woken; the thread can read it.",
    argumentSchema(reply.fields, { messageId: "", body: "", verdict: "your stand on what was asked", references: "" }),
    resultSchema(reply.result),
    writes,
  ),
  tool(
    "wait",
    "Block until your latest ask in a thread is answered; gives the replies and who is missing. After a time-out call again, nothing is lost.",
    argumentSchema(wait.fields, waitArguments, ["until"]),
    resultSchema(wait.result),
    reads,
  ),
  tool(
    "collect",
    "Who answered an ask so far, and the tally of verdicts. Without bodies; does not wait.",
    argumentSchema(collect.fields, { threadId: "", messageId: "an earlier ask" }),
    resultSchema(collect.result),
    reads,
  ),
  tool(
    "inbox",
    "Your unread messages as first lines, by thread. Cheap.",
    argumentSchema(inbox.fields, { unreadOnly: "default true" }, ["unreadOnly"]),
    resultSchema(inbox.result),
    reads,
  ),
  tool(
    "read",
    "Messages in full, by id. Marks yours as delivered.",
    argumentSchema(read.fields, { ids: "" }),
    resultSchema(read.result),
    reads,
  ),
  tool(
    "thread",
    "A thread as first lines; full costs the bodies.",
    argumentSchema(thread.fields, threadArguments, ["threadId"]),
    resultSchema(thread.result, threads.result),
    reads,
  ),
  tool(
    "ack",
    "Mark messages as taken care of, without a reply.",
    argumentSchema(ack.fields, { ids: "" }),
    resultSchema(ack.result),
    writesOnce,
  ),
  tool(
    "groups",
    "List or change named groups to send to.",
    argumentSchema(groups.fields, { action: "", name: "", members: "" }),
    { type: "object", properties: { groups: { type: "array" } }, required: ["groups"] },
    writes,
  ),
  tool(
    "status",
    "Who you are on the bus, and which peers there are to send to.",
    argumentSchema(status.fields, { live: "default true; false lists the offline too" }),
    { ...resultSchema(status.result), properties: { you: { type: "object" }, ...resultSchema(status.result).properties } },
    reads,
  ),
];

/** The names of a tool's arguments, or undefined where there is no such tool. */
export function argumentNames(name: string): string[] | undefined {
  const found = tools.find((candidate) => candidate.name === name);
  return found && Object.keys(found.inputSchema.properties);
}
