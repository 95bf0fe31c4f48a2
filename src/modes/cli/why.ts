// why and cancel: what became of a message, and taking it back.
import type { Command } from "commander";
import type { Attempt, Result } from "../../protocol/schemas.ts";
import { harmlessLine } from "../../protocol/text.ts";
import { messageId } from "./message.ts";
import { Exit, idNumber, print, printJson } from "./output.ts";
import { type Common, optionsOf, withBus } from "./run.ts";
import { ago, clock, dim, hanging, indented, joined, peer, presence, state, wrapped } from "./style.ts";

/** Adds `why` and `cancel`. */
export function registerWhy(program: Command): void {
  program
    .command("why")
    .summary("say why a message has (not) arrived")
    .description("Shows for each recipient the state, every attempt and its outcome, what its CLI can do at best, and what you can do now.")
    .argument("<message>", "message id")
    .argument("[handle]", "only this recipient")
    .action(async (id: string, handle: string | undefined, _options, command: Command) => why(id, handle, optionsOf(command)));
  program
    .command("cancel")
    .summary("take a message back from those who do not have it yet")
    .description(
      "Takes your messages back from those to whom they were not handed over yet. Ends with status 1 where it was too late for everybody.",
    )
    .argument("<message...>", "message ids, such as 42 or m42")
    .action(async (ids: string[], _options, command: Command) => cancel(ids, optionsOf(command)));
}

async function why(id: string, handle: string | undefined, options: Common): Promise<void> {
  const fields = { messageId: idNumber(id, "the message"), ...(handle === undefined ? {} : { handle }) };
  await withBus(options, async (me) => {
    const result = await me.client.call("why", fields);
    if (options.json) return printJson(result);
    await print(
      joined([`${messageId(result.messageId)} ${dim(`thread ${result.threadId}`)} from ${peer(result.from)}`, dim(ago(result.at))]),
    );
    for (const row of result.deliveries) await print(`\n${deliveryText(row)}`);
  });
}

function deliveryText(row: Result<"why">["deliveries"][number]): string {
  const lines = [
    hanging(
      `${peer(row.handle)} (${row.client ?? "no CLI"}, ${presence(row.presence)}): ${state(row.state)} ${dim(ago(row.since))}, ${row.mode}`,
      2,
    ),
  ];
  for (const attempt of row.attempts) lines.push(indented(attemptText(attempt), 2));
  if (!row.attempts.length && row.state === "queued") lines.push(`  ${dim("not handed over yet")}`);
  lines.push(indented(`${dim("at best:")} ${harmlessLine(row.best)}`, 2), indented(`${dim("now:")} ${harmlessLine(row.advice)}`, 2));
  return lines.join("\n");
}

const outcomeWords: Record<Attempt["outcome"], string> = {
  open: "still open",
  proven: "proven by the transcript",
  unproven: "taken as delivered, without proof",
  confirmed: "confirmed",
  read: "read",
  "no-proof": "no proof in time",
  closed: "the connection closed first",
  ended: "the session ended first",
  refused: "refused",
  held: "held for the user",
  failed: "failed",
  restart: "the broker restarted first",
};

function attemptText(attempt: Attempt): string {
  const ended = attempt.endedAt === null ? "" : ` ${clock(attempt.endedAt)}`;
  return `${clock(attempt.at)} by ${attempt.channel}: ${outcomeWords[attempt.outcome] ?? attempt.outcome}${ended}`;
}

async function cancel(words: string[], options: Common): Promise<void> {
  const ids = words.map((word) => idNumber(word, "a message"));
  let late = false;
  for (const id of ids) {
    const result = await withBus(options, (me) => me.client.call("cancel", { messageId: id }));
    late ||= result.kept.length > 0 && !result.cancelled.length;
    await (options.json ? printJson({ messageId: id, ...result }) : print(wrapped(cancelText(id, result))));
  }
  if (late) throw new Exit(1);
}

function cancelText(id: number, { cancelled, kept }: Result<"cancel">): string {
  const parts = [
    ...(cancelled.length ? [`taken back from ${cancelled.map(peer).join(", ")}`] : []),
    ...(kept.length ? [`too late for ${kept.map(peer).join(", ")}`] : []),
  ];
  return `m${id}: ${parts.join("; ") || "nothing to take back"}`;
}
