// thread, search, export: what was said.
import type { Command } from "commander";
import type { Fields, Result, Summary } from "../../protocol/schemas.ts";
import { harmless, harmlessLine } from "../../protocol/text.ts";
import type { Acting } from "./identity.ts";
import { briefMessage, handleCell, heading, wholeMessage } from "./message.ts";
import { hint, idNumber, print, printJson, UsageError } from "./output.ts";
import { type Common, optionsOf, withBus } from "./run.ts";
import { ago, bold, type Cell, dim, examples, indented, table, yellow } from "./style.ts";
import { threadNumber } from "./wait.ts";

type ThreadOptions = { since?: string; full?: boolean; message?: string; follow?: boolean; limit?: string; handle?: string };
type ExportOptions = { thread?: string; format?: string; since?: string };
type Exported = Result<"export">["messages"][number];

const threadExamples: [string, string][] = [
  ["renn thread", "the most recent threads"],
  ["renn thread 7 --full", "all that was said in one"],
  ["renn thread 7 --follow", "and what will be said"],
];
const exportExamples: [string, string][] = [
  ["renn export > messages.jsonl", "everything, one message a line"],
  ["renn export -t 7 --format md", "one thread, to be read"],
];

/** Adds `thread`, `search` and `export`. */
export function registerThread(program: Command): void {
  program
    .command("thread")
    .alias("threads")
    .summary("show a thread, or the most recent ones")
    .description("Shows the messages of a thread. Without an id: the most recent threads, newest first.")
    .argument("[thread]", "thread id")
    .option("--since <seq>", "only messages after this place (#seq) in the thread")
    .option("--full", "with bodies; your own then count as delivered")
    .option("--message <id>", "only this message and its replies, with bodies")
    .option("-f, --follow", "go on with what comes")
    .option("--limit <n>", "without an id: so many threads (default 20)")
    .option("--handle <handle>", "without an id: only threads of this peer")
    .addHelpText("after", () => `\n${examples("Examples:", threadExamples)}`)
    .action(async (id: string | undefined, _options, command: Command) => thread(id, optionsOf<ThreadOptions>(command)));
  program
    .command("search")
    .summary("search in all bodies")
    .description("Full-text search: each word must occur. The best match comes first.")
    .argument("<text...>", "words")
    .option("-t, --thread <id>", "only in this thread")
    .option("--limit <n>", "at most so many (default 20)")
    .action(async (words: string[], _options, command: Command) => search(words, optionsOf(command)));
  program
    .command("export")
    .summary("write messages with bodies and deliveries")
    .option("-t, --thread <id>", "only this thread")
    .option("--since <id>", "only messages after this one")
    .option("--format <format>", "jsonl (default) or md")
    .addHelpText("after", () => `\n${examples("Examples:", exportExamples)}`)
    .action(async (_options, command: Command) => exportAll(optionsOf<ExportOptions>(command)));
}

/** A whole number of an option, at least `least`. */
function countOption(text: string, option: string, least: number): number {
  const n = Number(text);
  if (!/^\d+$/.test(text) || n < least || !Number.isSafeInteger(n))
    throw new UsageError(`${option} must be a whole number from ${least}, and is ${JSON.stringify(text)}`);
  return n;
}

async function thread(id: string | undefined, options: ThreadOptions & Common): Promise<void> {
  if (id === undefined) return recent(options);
  const fields: Fields<"thread"> = {
    threadId: threadNumber(id),
    ...(options.since === undefined ? {} : { sinceSeq: countOption(options.since, "--since", 0) }),
    ...(options.full ? { full: true } : {}),
    ...(options.message === undefined ? {} : { messageId: idNumber(options.message, "--message") }),
  };
  if (options.follow) return follow(fields, options);
  await withBus(options, async (me) => {
    const result = await wholeThread(me, fields);
    if (options.json) return printJson(result);
    for (const message of result.messages) await print(oneOf(message));
    if (!result.messages.length) await print(dim("no messages"));
    const others = result.messages.findLast((message) => message.from !== me.handle);
    const answer = others ? [`renn reply ${others.id} "…"`] : [];
    if (!options.full) await hint(`renn thread ${result.threadId} --full`, ...answer, `renn collect ${result.threadId}`);
  });
}

const oneOf = (message: Summary) => (message.body === undefined ? briefMessage(message, true) : `${wholeMessage(message, true)}\n`);

/** Answers stop at 4 MiB: this goes on until all of the thread is here. */
async function wholeThread(me: Acting, fields: Fields<"thread">): Promise<Result<"thread">> {
  const result = await me.client.call("thread", fields);
  for (let part = result; part.more && part.nextSeq !== undefined; ) {
    part = await me.client.call("thread", { ...fields, sinceSeq: part.nextSeq });
    result.messages.push(...part.messages);
  }
  delete result.more;
  delete result.nextSeq;
  return result;
}

/** Prints what is there and then what comes, until it is interrupted or the broker closes. */
async function follow(fields: Fields<"thread">, options: Common): Promise<void> {
  const closed = Promise.withResolvers<void>();
  let news = Promise.withResolvers<void>();
  const onEvent = () => news.resolve();
  await withBus(
    options,
    async (me) => {
      await me.client.call("watch", { threadId: fields.threadId });
      void closed.promise.then(() => news.resolve());
      let since = fields.sinceSeq ?? null;
      while (me.client.open) {
        const result = await wholeThread(me, { ...fields, sinceSeq: since });
        for (const message of result.messages) await (options.json ? printJson(message) : print(oneOf(message)));
        since = result.messages.at(-1)?.seq ?? since;
        await news.promise;
        news = Promise.withResolvers<void>();
      }
    },
    { onEvent, onClose: closed.resolve, once: true },
  );
}

async function recent(options: ThreadOptions & Common): Promise<void> {
  const fields = {
    ...(options.limit === undefined ? {} : { limit: countOption(options.limit, "--limit", 1) }),
    ...(options.handle === undefined ? {} : { handle: options.handle }),
  };
  await withBus(options, async (me) => {
    const result = await me.client.call("threads", fields);
    if (options.json) return printJson(result);
    if (!result.threads.length) {
      await print(dim("no threads yet"));
      return hint('renn send HANDLE "…"');
    }
    const rows = result.threads.map((t): Cell[] => [
      { text: String(t.threadId), paint: bold },
      handleCell(t.openedBy),
      String(t.latestSeq),
      t.unread ? { text: String(t.unread), paint: yellow } : "",
      { text: ago(t.lastAt), paint: dim },
      harmlessLine(t.firstLine),
    ]);
    await print(table(["thread", "by", "messages", "unread", "last", "first line"], rows));
    await hint(`renn thread ${result.threads[0]?.threadId}`);
  });
}

async function search(words: string[], options: { thread?: string; limit?: string } & Common): Promise<void> {
  const fields = {
    text: words.join(" "),
    ...(options.limit === undefined ? {} : { limit: countOption(options.limit, "--limit", 1) }),
    ...(options.thread === undefined ? {} : { threadId: threadNumber(options.thread) }),
  };
  await withBus(options, async (me) => {
    const result = await me.client.call("search", fields);
    if (options.json) return printJson(result);
    for (const found of result.results) await print(`${heading(found)}\n${indented(highlight(harmlessLine(found.snippet)), 2)}`);
    if (!result.results.length) await print(dim("nothing found"));
    else await hint(`renn read ${result.results[0]?.id}`);
  });
}

const highlight = (snippet: string) => snippet.replace(/«([^»]*)»/g, (_, word: string) => bold(word));

async function exportAll(options: ExportOptions & Common): Promise<void> {
  const format = options.json ? "jsonl" : (options.format ?? "jsonl");
  if (format !== "jsonl" && format !== "md") throw new UsageError(`--format must be jsonl or md, and is ${JSON.stringify(format)}`);
  const thread = options.thread === undefined ? {} : { threadId: threadNumber(options.thread) };
  let sinceId = options.since === undefined ? 0 : idNumber(options.since, "--since");
  await withBus(options, async (me) => {
    for (;;) {
      const part = await me.client.call("export", { ...thread, sinceId }, { timeoutMs: 60_000 });
      for (const message of part.messages) await (format === "md" ? print(markdown(message)) : printJson(message));
      if (!part.more || !part.messages.length) return;
      sinceId = part.messages.at(-1)?.id ?? sinceId;
    }
  });
}

function markdown(m: Exported): string {
  const answers = m.replyTo === null ? "" : `, answers m${m.replyTo}${m.verdict ? ` (${m.verdict})` : ""}`;
  const to = m.deliveries.map((d) => `${d.handle} (${d.state})`).join(", ") || "nobody any more";
  const lines = [
    `## m${m.id} · thread ${m.threadId} #${m.seq} · ${m.from}${m.via ? ` via ${m.via}` : ""}${answers}`,
    "",
    `${new Date(m.at).toISOString()} to ${to}`,
    "",
  ];
  lines.push(
    ...harmless(m.body ?? m.firstLine)
      .split("\n")
      .map((line) => `> ${line}`),
    "",
  );
  if (m.references.length) lines.push(...m.references.map((reference) => `- ${harmlessLine(reference)}`), "");
  return lines.join("\n");
}
