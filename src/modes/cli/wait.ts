// wait and collect, and the waiting of `send --wait`.
import type { Command } from "commander";
import { defaultLimits } from "../../protocol/constants.ts";
import { ProtocolError } from "../../protocol/errors.ts";
import type { Result } from "../../protocol/schemas.ts";
import { harmless } from "../../protocol/text.ts";
import type { Acting } from "./identity.ts";
import { liveMissing } from "./live.ts";
import { matrixTable, messageId } from "./message.ts";
import { Exit, hint, idNumber, print, printJson, UsageError } from "./output.ts";
import { type Common, optionsOf, withBus } from "./run.ts";
import { dim, durationMs, examples, green, joined, peer, prose, red, verdict, wrapped, yellow } from "./style.ts";

export type Until = "all" | "any";
export type WaitFor = { threadId: number; messageId?: number; until: Until; timeoutMs: number };
export type WaitResult = Result<"wait">;

const waitExamples: [string, string][] = [
  ["renn wait 7", "until all have answered, 2 minutes at most"],
  ["renn wait 7 --any --timeout 10m", "until one has"],
  ["renn wait 7 --timeout 0", "who has answered so far"],
];

/** Adds `wait` and `collect`. */
export function registerWait(program: Command): void {
  program
    .command("wait")
    .summary("wait until the recipients of an ask have replied")
    .description("Waits for the replies to your latest ask in a thread and prints them. Ends with status 4 when the time runs out first.")
    .argument("<thread>", "thread id")
    .argument("[until]", "all (default) or any: whose reply is enough")
    .option("--any", "the same as the word any")
    .option("--message <id>", "another ask of the thread")
    .option("--timeout <time>", "how long: 90s, 5m, 0 looks once (default 2m)")
    .addHelpText("after", () => `\n${examples("Examples:", waitExamples)}`)
    .action(async (id: string, until: string | undefined, _options, command: Command) => wait(id, until, optionsOf(command)));
  program
    .command("collect")
    .summary("show who has answered an ask, and how")
    .description("Shows for the latest ask of a thread who has answered and how, and who has not. Does not wait, and changes nothing.")
    .argument("<thread>", "thread id")
    .option("--message <id>", "another ask of the thread")
    .action(async (id: string, _options, command: Command) => collect(id, optionsOf(command)));
}

/** A thread id: `7` or `#7`; an id such as m42 is a message's and is refused with what to do. */
export function threadNumber(text: string): number {
  if (/^m\d/.test(text)) throw new UsageError(`${text} is a message; say its thread (renn read ${text} shows it)`);
  return idNumber(text, "the thread", "7");
}

/** `--timeout` in ms; two minutes where it is not given. */
export function timeoutOption(text: string | undefined): number {
  if (text === undefined) return defaultLimits.waitDefaultMs;
  const ms = durationMs(text);
  if (ms === null) throw new UsageError(`--timeout must be a time such as 90s, 5m or 2h, and is ${JSON.stringify(text)}`);
  return ms;
}

/** What `--wait`, or a wait itself, was given: all (also without a word) or any. */
export function untilOption(word: string | true, what = "--wait"): Until {
  if (word === true || word === "all") return "all";
  if (word === "any") return "any";
  throw new UsageError(`${what} must be all or any, and is ${JSON.stringify(word)}`);
}

async function wait(
  id: string,
  until: string | undefined,
  options: { any?: boolean; message?: string; timeout?: string } & Common,
): Promise<void> {
  const what: WaitFor = {
    threadId: threadNumber(id),
    until: until === undefined ? (options.any ? "any" : "all") : untilOption(until, "what follows the thread"),
    timeoutMs: timeoutOption(options.timeout),
    ...(options.message === undefined ? {} : { messageId: idNumber(options.message, "--message") }),
  };
  await waitAndShow(options, what, options.json ? printJson : showWait);
}

/**
 * Waits, on a terminal showing meanwhile who is missing, and shows what came by `show`. Only what was shown is confirmed: whoever is
 * killed before has it still unread. Ends the command with status 4 where the condition did not come to hold.
 */
export async function waitAndShow(options: Common, what: WaitFor, show: (result: WaitResult) => Promise<void>): Promise<void> {
  const deadline = performance.now() + what.timeoutMs;
  let shown: WaitResult | null = null;
  const result = await withBus(options, async (me) => {
    // A broker that closed between the two is followed for the confirmation alone.
    if (!shown) {
      const came = await waitLive(options, me, what, deadline);
      await show(came);
      shown = came;
    }
    await confirm(me, shown);
    return shown;
  });
  if (!result.conditionMet) throw new Exit(4);
}

async function waitLive(options: Common, me: Acting, what: WaitFor, deadline: number): Promise<WaitResult> {
  const live = options.json || !what.timeoutMs ? null : await liveMissing(options, what);
  try {
    return await waitLong(me, what, deadline);
  } finally {
    live?.end();
  }
}

/** A wait of any length: the broker's own end at five minutes, and the last answer names every reply. */
async function waitLong(me: Acting, what: WaitFor, deadline: number): Promise<WaitResult> {
  for (let early = true; ; ) {
    const left = Math.max(0, Math.min(deadline - performance.now(), defaultLimits.waitMaxMs));
    const result: WaitResult = await me.client.call("wait", {
      threadId: what.threadId,
      until: what.until === "all" ? "all_replied" : "any_replied",
      timeoutMs: Math.ceil(left),
      early,
      confirm: true,
      ...(what.messageId === undefined ? {} : { messageId: what.messageId }),
    });
    const over = result.conditionMet || performance.now() >= deadline;
    const hopeless = !over && !result.timedOut && !(await comesAndGoes(me, result));
    if (over || hopeless) return result;
    early = result.timedOut && early;
  }
}

/** Whether one of those who count as gone is no session but somebody at a shell, who is there only while a command runs. */
async function comesAndGoes(me: Acting, result: WaitResult): Promise<boolean> {
  if (result.notes.some((note) => note.kind === "circle")) return false;
  const gone = new Set(result.notes.filter((note) => note.kind === "gone").flatMap((note) => note.handles));
  const { peers } = await me.client.call("status", {});
  return peers.some((peer) => gone.has(peer.handle) && peer.client === null);
}

async function confirm(me: Acting, result: WaitResult): Promise<void> {
  const ids = result.replies.map((reply) => reply.id);
  if (!ids.length) return;
  try {
    await me.client.call("delivered", { ids });
  } catch (error) {
    // A reply that was withdrawn or was never the caller's: nothing of it is left to confirm.
    if (!(error instanceof ProtocolError) || error.code !== "unknown_message") throw error;
  }
}

const noteWords = {
  unanswered: "have it and have not answered",
  unconfirmed: "have not confirmed it yet",
  offline: "offline",
  gone: "gone, no answer will come",
  circle: "waiting for each other in a circle",
} as const;

/** The replies, who has answered, and how the waiting ended. */
export async function showWait(result: WaitResult): Promise<void> {
  for (const reply of result.replies) {
    const head = joined([`${messageId(reply.id)} #${reply.seq}`, peer(reply.from), ...(reply.verdict ? [verdict(reply.verdict)] : [])]);
    await print(`${head}\n${prose(harmless(reply.body))}\n`);
  }
  await print(matrixTable(result.matrix));
  await print(result.conditionMet ? green("answered") : result.timedOut ? red("timed out") : red("nobody is left who could answer"));
  for (const note of result.notes)
    await print(wrapped(`${yellow(noteWords[note.kind] ?? note.kind)}: ${note.handles.map(peer).join(", ")}`));
  if (!result.conditionMet) await hint(`renn wait ${result.threadId}`, `renn why ${result.askMessageId}`);
}

async function collect(id: string, options: { message?: string } & Common): Promise<void> {
  const fields = {
    threadId: threadNumber(id),
    ...(options.message === undefined ? {} : { messageId: idNumber(options.message, "--message") }),
  };
  await withBus(options, async (me) => {
    const result = await me.client.call("collect", fields);
    if (options.json) return printJson(result);
    const tally = result.verdictTally;
    await print(
      joined([
        `${messageId(result.askMessageId)} ${dim(`thread ${result.threadId}`)}`,
        ...Object.entries(tally).map((pair) => pair.join(" ")),
      ]),
    );
    await print(matrixTable(result.recipients));
    await hint(tally.pending ? `renn wait ${result.threadId}` : `renn thread ${result.threadId} --full`);
  });
}
