// inbox, read, ack.
import type { Command } from "commander";
import type { Result, Summary } from "../../protocol/schemas.ts";
import { harmlessLine } from "../../protocol/text.ts";
import type { Acting } from "./identity.ts";
import { briefMessage, wholeMessage } from "./message.ts";
import { hint, idNumber, print, printJson, UsageError } from "./output.ts";
import { type Common, optionsOf, withBus } from "./run.ts";
import { ago, bold, dim, indented, peer, yellow } from "./style.ts";

/** Adds `inbox`, `read` and `ack`. */
export function registerInbox(program: Command): void {
  program
    .command("inbox")
    .summary("show what is unread")
    .description("Shows your unread messages by thread, newest first. Looking at it changes nothing; `renn read` does.")
    .option("-a, --all", "also threads with nothing unread, the newest 50")
    .option("-c, --count", "only the number of unread messages")
    .action(async (_options, command: Command) => inbox(optionsOf(command)));
  program
    .command("read")
    .summary("show messages in full")
    .description("Shows messages in full. Your own then count as delivered.")
    .argument("<message...>", "message ids, such as 42 or m42")
    .action(async (ids: string[], _options, command: Command) => read(ids, optionsOf(command)));
  program
    .command("ack")
    .summary("say that messages are taken care of, without a reply")
    .description(
      "Marks messages as taken care of: they are unread no more, and whoever sent them sees it in `renn why` and `renn collect`.",
    )
    .argument("[message...]", "message ids, such as 42 or m42")
    .option("-a, --all", "everything that is unread")
    .action(async (ids: string[], _options, command: Command) => ack(ids, optionsOf(command)));
}

async function inbox(options: { all?: boolean; count?: boolean } & Common): Promise<void> {
  await withBus(options, async (me) => {
    if (options.count) {
      const { unread } = await me.client.call("whoami", {});
      return options.json ? printJson({ handle: me.handle, unreadTotal: unread }) : print(String(unread));
    }
    const result = await me.client.call("inbox", { unreadOnly: !options.all });
    return options.json ? printJson(result) : showInbox(result);
  });
}

async function showInbox(result: Result<"inbox">): Promise<void> {
  await print(`${peer(result.handle)} · ${result.unreadTotal ? yellow(`${result.unreadTotal} unread`) : "nothing unread"}`);
  for (const thread of result.threads) {
    await print(
      `\n${bold(`thread ${thread.threadId}`)} · ${thread.unread} unread · ${thread.latestSeq} in all · ${dim(ago(thread.lastAt))}`,
    );
    if (!thread.messages.length) await print(indented(`${peer(thread.from)}: ${harmlessLine(thread.firstLine)}`, 2));
    for (const message of thread.messages) await print(briefMessage(message, true));
  }
  if (result.more) await print(yellow("… there is more: read or acknowledge some first"));
  const first = result.threads.find((thread) => thread.messages.length)?.messages[0];
  if (first) await hint(`renn read ${first.id}`, `renn reply ${first.id} "…"`, `renn ack ${first.id}`);
}

async function read(words: string[], options: Common): Promise<void> {
  const ids = words.map((word) => idNumber(word, "a message"));
  await withBus(options, async (me) => {
    const messages = await readAll(me, ids);
    if (options.json) return printJson({ messages });
    await print(messages.map((message) => wholeMessage(message)).join("\n\n"));
    const last = messages.at(-1);
    if (last && last.from !== me.handle)
      await hint(`renn reply ${last.id} "…" (--agree, --disagree, --info)`, `renn thread ${last.threadId}`);
  });
}

/** An answer stops at 4 MiB; the rest is asked for by the ids that are still open. */
async function readAll(me: Acting, ids: number[]): Promise<Summary[]> {
  const messages: Summary[] = [];
  for (let open = ids; open.length; ) {
    const result = await me.client.call("read", { ids: open });
    messages.push(...result.messages);
    const at = result.more && result.nextId !== undefined ? open.indexOf(result.nextId) : -1;
    open = at > 0 ? open.slice(at) : [];
  }
  return messages;
}

async function ack(words: string[], options: { all?: boolean } & Common): Promise<void> {
  if (!words.length === !options.all) throw new UsageError("say which messages: renn ack ID… or renn ack --all");
  await withBus(options, async (me) => {
    const ids = words.map((word) => idNumber(word, "a message"));
    const acknowledged = options.all ? await ackAll(me) : (await me.client.call("ack", { ids })).acknowledged;
    if (options.json) return printJson({ acknowledged });
    await print(acknowledged.length ? `acknowledged ${acknowledged.map((id) => `m${id}`).join(", ")}` : "nothing to acknowledge");
  });
}

/** A look at the inbox may not show everything at once; it is over when a look shows nothing that was not acknowledged already. */
async function ackAll(me: Acting): Promise<number[]> {
  const done = new Set<number>();
  for (;;) {
    const { threads } = await me.client.call("inbox", { unreadOnly: true });
    const ids = threads.flatMap((thread) => thread.messages.map((message) => message.id)).filter((id) => !done.has(id));
    if (!ids.length) return [...done];
    const { acknowledged } = await me.client.call("ack", { ids: ids.slice(0, 1000) });
    for (const id of [...ids.slice(0, 1000), ...acknowledged]) done.add(id);
  }
}
