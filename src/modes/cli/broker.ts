// broker start|stop|restart|status|logs. `broker run` never comes here but for its help: main.ts sends it to the serve mode.
import { existsSync, statSync } from "node:fs";
import type { Command } from "commander";
import { Client } from "../../client.ts";
import { holder } from "../../holder.ts";
import { homePaths } from "../../home.ts";
import type { Result } from "../../protocol/schemas.ts";
import { ageWords, visible } from "../../protocol/text.ts";
import { answers, stopBroker } from "./holder.ts";
import { hint, print, printJson, UsageError } from "./output.ts";
import { type Common, optionsOf, withBus } from "./run.ts";
import { dim, facts, green, yellow } from "./style.ts";

/** Adds `broker` and what it does. */
export function registerBroker(program: Command): void {
  const broker = program.command("broker").summary("run, stop and look after the broker").helpCommand(false);
  broker
    .command("run")
    .summary("serve in the foreground")
    .action(async () => {
      await (await import("../serve.ts")).serve();
    });
  broker
    .command("start")
    .summary("start it in the background, where it is not running")
    .action(async (_options, command: Command) => start(optionsOf(command)));
  broker
    .command("stop")
    .summary("stop it; nothing is lost")
    .action(async (_options, command: Command) => stop(optionsOf(command)));
  broker
    .command("restart")
    .summary("stop it and start this version")
    .action(async (_options, command: Command) => restart(optionsOf(command)));
  broker
    .command("status")
    .summary("show how it is doing")
    .action(async (_options, command: Command) => status(optionsOf(command)));
  broker
    .command("logs")
    .summary("show its log")
    .option("-n, --lines <n>", "the last so many lines (default 50)")
    .option("-f, --follow", "go on with what comes")
    .action(async (_options, command: Command) => logs(optionsOf(command)));
}

async function start(options: Common): Promise<void> {
  const paths = homePaths();
  const before = await answers(paths);
  (await Client.connect({ paths, start: true })).close();
  const pid = holder(paths)?.pid ?? null;
  if (options.json) return printJson({ running: true, started: !before, pid });
  await print(`the broker ${before ? "is already running" : "runs"}${pid === null ? "" : ` (pid ${pid})`}`);
}

async function stop(options: Common): Promise<void> {
  const stopped = await stopBroker(homePaths());
  if (options.json) return printJson({ running: false, stopped });
  await print(stopped ? "the broker has stopped" : "the broker was not running");
}

async function restart(options: Common): Promise<void> {
  const paths = homePaths();
  // A broker that serves is not ended for one that would not start.
  (await import("../serve/config.ts")).readConfig(paths.config);
  const stopped = await stopBroker(paths);
  (await Client.connect({ paths, start: true })).close();
  const pid = holder(paths)?.pid ?? null;
  if (options.json) return printJson({ running: true, stopped, pid });
  await print(`the broker runs${stopped ? " again" : ""}${pid === null ? "" : ` (pid ${pid})`}`);
}

async function status(options: Common): Promise<void> {
  const work = async (stats: Result<"stats">) => (options.json ? printJson(stats) : print(statusText(stats)));
  await withBus(options, async (me) => work(await me.client.call("stats", {})), { start: false });
}

const us = (n: number) => (n < 1000 ? `${n} µs` : `${(n / 1000).toFixed(1)} ms`);

function statusText(s: Result<"stats">): string {
  const by = s.unreadByState;
  const rows: [string, string][] = [
    ["broker", `${green("running")} ${s.version} (pid ${s.pid})`],
    ["uptime", ageWords(Date.now() - s.startedAt)],
    ["home", homePaths().home],
    ["connections", `${s.connections} (${s.listeners} listening, ${s.waits} waiting)`],
    ["sessions", `${s.sessions} live`],
    ["messages", String(s.messages)],
    ["unread", `${by.queued} queued, ${by.sent} sent, ${by.delivered} delivered`],
    ["oldest queued", s.oldestQueuedAt === null ? "none" : yellow(`${ageWords(Date.now() - s.oldestQueuedAt)} old`)],
    ["in hand-over", `${s.handedOver} wait for proof`],
    ["requests", `${s.requests} in ${s.commits} commits`],
    ["handling", `p50 ${us(s.handlingP50Us)}, p99 ${us(s.handlingP99Us)}`],
    ["memory", `${(s.memoryBytes / 1_048_576).toFixed(1)} MiB`],
  ];
  return facts(rows);
}

async function logs(options: { lines?: string; follow?: boolean } & Common): Promise<void> {
  const count = Number(options.lines ?? "50");
  if (!Number.isSafeInteger(count) || count < 0)
    throw new UsageError(`--lines must be a whole number, and is ${JSON.stringify(options.lines)}`);
  const { log } = homePaths();
  if (!existsSync(log)) {
    await print(dim("no log yet"));
    if (!options.follow) return hint("renn broker start");
  } else if (!statSync(log).isFile()) throw new Error(`${log} is no regular file; remove it, and the broker makes a new one`);
  let size = existsSync(log) ? Bun.file(log).size : 0;
  const lines = size
    ? (await Bun.file(log).text())
        .trimEnd()
        .split("\n")
        .slice(count ? -count : Number.POSITIVE_INFINITY)
    : [];
  for (const line of lines) await print(visible(line));
  while (options.follow) {
    await Bun.sleep(500);
    const now = existsSync(log) ? Bun.file(log).size : 0;
    // A smaller file is a new one: the log was rotated.
    if (now < size) size = 0;
    if (now > size) for (const line of (await Bun.file(log).slice(size, now).text()).trimEnd().split("\n")) await print(visible(line));
    size = now;
  }
}
