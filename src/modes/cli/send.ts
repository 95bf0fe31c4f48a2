// send and reply.
import type { Command } from "commander";
import { type DeliveryMode, deliveryModes, type Verdict } from "../../protocol/constants.ts";
import { ProtocolError } from "../../protocol/errors.ts";
import type { Result } from "../../protocol/schemas.ts";
import { deliveryTable, messageId } from "./message.ts";
import { bodyText, hint, idNumber, print, printJson, UsageError } from "./output.ts";
import { type Common, gather, optionsOf, withBus } from "./run.ts";
import { dim, examples, joined, peer, wrapped, yellow } from "./style.ts";
import { showWait, threadNumber, timeoutOption, type Until, untilOption, type WaitResult, waitAndShow } from "./wait.ts";

type SendOptions = {
  message?: string;
  thread?: string;
  mode?: string;
  ref?: string[];
  key?: string;
  wait?: string | true;
  timeout?: string;
};
type ReplyOptions = { message?: string; agree?: boolean; disagree?: boolean; info?: boolean; ref?: string[]; key?: string };

const sendExamples: [string, string][] = [
  ['renn send web "Is the API ready?"', "tell one peer"],
  ['renn send web api "Ship today?" --wait', "ask two, and wait for both"],
  ['renn send @team "Who is free?" --wait any', "ask a group, one answer is enough"],
  ['renn send web -t 7 "One more thing"', "go on in thread 7"],
  ["git diff | renn send web -", "send what a program prints"],
];
const replyExamples: [string, string][] = [
  ['renn reply 42 "Yes, ship it" --agree', "answer with a verdict"],
  ["renn reply m42 - < answer.md", "answer with a file's text"],
];

/** Adds `send` and `reply`. */
export function registerSend(program: Command): void {
  program
    .command("send")
    .summary("send a message to handles, groups or @all")
    .description(
      "Sends a message. TO are handles, groups (@name) or @all; the last word is the body, unless -m gives it. `-` reads it from standard input.",
    )
    .argument("<to...>", "recipients, then the body")
    .option("-m, --message <text>", "the body")
    .option("-t, --thread <id>", "into this thread instead of a new one")
    .option("--mode <mode>", "push (default), notify (one line at the next turn) or silent (inbox only)")
    .option("--ref <text>", "a path, URL or other pointer; may be given several times", gather)
    .option("--key <key>", "idempotency key: the same key and content again is sent only once")
    .option("-w, --wait [until]", "wait until all (default) or any have replied")
    .option("--timeout <time>", "how long --wait waits: 90s, 5m (default 2m)")
    .addHelpText("after", () => `\n${examples("Examples:", sendExamples)}`)
    .action(async (words: string[], _options, command: Command) => send(words, optionsOf<SendOptions>(command)));
  program
    .command("reply")
    .summary("answer a message")
    .description("Answers a message; the reply goes to everybody in its thread. `-` reads the body from standard input.")
    .argument("<message>", "id of the message, such as 42 or m42")
    .argument("[body]", "the answer")
    .option("-m, --message <text>", "the body")
    .option("--agree", "verdict: agree")
    .option("--disagree", "verdict: disagree")
    .option("--info", "verdict: info")
    .option("--ref <text>", "a path, URL or other pointer; may be given several times", gather)
    .option("--key <key>", "idempotency key: the same key and content again is sent only once")
    .addHelpText("after", () => `\n${examples("Examples:", replyExamples)}`)
    .action(async (id: string, body: string | undefined, _options, command: Command) => reply(id, body, optionsOf<ReplyOptions>(command)));
}

async function send(words: string[], options: SendOptions & Common): Promise<void> {
  const to = options.message === undefined ? words.slice(0, -1) : words;
  const body = options.message ?? words.at(-1);
  if (!to.length || body === undefined)
    throw new UsageError("say to whom and what: renn send TO… BODY (the body also with -m, or `-` for standard input)");
  const fields = {
    threadId: options.thread === undefined ? null : threadNumber(options.thread),
    to,
    body: await bodyText(body),
    ...(options.mode === undefined ? {} : { mode: modeOption(options.mode) }),
    ...(options.ref ? { references: options.ref } : {}),
    key: options.key ?? crypto.randomUUID(),
  };
  const until = options.wait === undefined ? null : untilOption(options.wait);
  const timeoutMs = timeoutOption(options.timeout);
  const { sent, handle } = await withBus(options, async (me) => ({ sent: await me.client.call("send", fields), handle: me.handle })).catch(
    (error) => {
      throw options.message === undefined && to.length > 1 ? maybeUnquoted(error, body) : error;
    },
  );
  if (until) return sendAndWait(options, handle, sent, until, timeoutMs);
  if (options.json) return printJson(sent);
  await showSent(handle, sent);
  await hint(`renn wait ${sent.threadId}`, `renn collect ${sent.threadId}`, `renn why ${sent.messageId}`);
}

/** A word of a body without quotes was taken for a recipient: says so. */
function maybeUnquoted(error: unknown, body: string): unknown {
  if (!(error instanceof ProtocolError) || error.code !== "unknown_handle") return error;
  const hintText = `put the whole body in quotes, as in "… ${body}", where that word is part of it`;
  return new ProtocolError(error.code, `${error.message}; ${hintText}`, error.data);
}

async function sendAndWait(options: Common, handle: string, sent: Result<"send">, until: Until, timeoutMs: number): Promise<void> {
  if (!options.json) await showSent(handle, sent);
  const show = (result: WaitResult) => (options.json ? printJson({ ...sent, wait: result }) : showWait(result));
  await waitAndShow(options, { threadId: sent.threadId, messageId: sent.messageId, until, timeoutMs }, show);
}

async function showSent(handle: string, sent: Result<"send"> | Result<"reply">): Promise<void> {
  const from = `from ${peer(handle)}${sent.via ? ` via ${peer(sent.via)}` : ""}`;
  const repeated = sent.repeated ? [yellow("sent before with this key")] : [];
  await print(joined([`${messageId(sent.messageId)} ${dim(`thread ${sent.threadId} #${sent.seq}`)} ${from}`, ...repeated]));
  await print(deliveryTable(sent.deliveries));
  if ("skipped" in sent && sent.skipped?.length) await print(yellow(wrapped(`left out, their inbox is full: ${sent.skipped.join(", ")}`)));
}

function modeOption(text: string): DeliveryMode {
  const mode = deliveryModes.find((word) => word === text);
  if (!mode) throw new UsageError(`--mode must be push, notify or silent, and is ${JSON.stringify(text)}`);
  return mode;
}

function verdictOption(options: ReplyOptions): Verdict | undefined {
  const given = (["agree", "disagree", "info"] as const).filter((word) => options[word]);
  if (given.length > 1) throw new UsageError(`one verdict only, not ${given.map((word) => `--${word}`).join(" and ")}`);
  return given[0];
}

async function reply(id: string, word: string | undefined, options: ReplyOptions & Common): Promise<void> {
  const body = options.message ?? word;
  if (body === undefined) throw new UsageError("say what to answer: renn reply ID BODY (the body also with -m, or `-` for standard input)");
  if (options.message !== undefined && word !== undefined) throw new UsageError("the body is given twice: as an argument and with -m");
  const verdict = verdictOption(options);
  const fields = {
    messageId: idNumber(id, "the message"),
    body: await bodyText(body),
    ...(verdict ? { verdict } : {}),
    ...(options.ref ? { references: options.ref } : {}),
    key: options.key ?? crypto.randomUUID(),
  };
  await withBus(options, async (me) => {
    const sent = await me.client.call("reply", fields);
    if (options.json) return printJson(sent);
    await showSent(me.handle, sent);
    if (sent.throttled) await print(yellow(wrapped("stored, and nobody is woken: you two have answered each other very often")));
  });
}
