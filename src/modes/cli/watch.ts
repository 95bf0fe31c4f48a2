// watch: what happens on the bus, one line each, as it happens.
import type { Command } from "commander";
import { Client, type ClientEvent } from "../../client.ts";
import { ProtocolError } from "../../protocol/errors.ts";
import type { Summary, WatchPayload } from "../../protocol/schemas.ts";
import { harmlessLine } from "../../protocol/text.ts";
import { act } from "./identity.ts";
import { messageId, route } from "./message.ts";
import { print, printJson, warn } from "./output.ts";
import { type Common, optionsOf } from "./run.ts";
import { clock, dim, fitColumns, hanging, onTerminal, peer, presence, state, terminalWidth, verdict } from "./style.ts";
import { threadNumber } from "./wait.ts";

type WatchOptions = { thread?: string; handle?: string; notify?: boolean };

/** Adds `watch`. */
export function registerWatch(program: Command): void {
  program
    .command("watch")
    .summary("show messages, state changes and presence as they happen")
    .option("-t, --thread <id>", "only this thread")
    .option("--handle <handle>", "only what concerns this peer")
    .option("--notify", "also a desktop notification for each message to you")
    .description("Shows what happens until you end it with Ctrl-C. What was before is in `renn thread`.")
    .action(async (_options, command: Command) => watch(optionsOf<WatchOptions>(command)));
}

/** Until it is interrupted; a broker that goes away is waited for, so that a restart does not end it. */
async function watch(options: WatchOptions & Common): Promise<void> {
  const fields = {
    ...(options.thread === undefined ? {} : { threadId: threadNumber(options.thread) }),
    ...(options.handle === undefined ? {} : { handle: options.handle }),
  };
  for (;;) {
    await watchOnce(options, fields);
    warn("the broker closed the connection; waiting for it");
    while (!(await reachable())) await Bun.sleep(1000);
    warn("the broker is back");
  }
}

async function watchOnce(options: WatchOptions & Common, fields: { threadId?: number; handle?: string }): Promise<void> {
  const closed = Promise.withResolvers<void>();
  let printed = Promise.resolve();
  let self = "";
  const onEvent = (event: ClientEvent) => {
    if (event.event !== "watch") return;
    // One after the other, so that lines keep their order when the reader is slow.
    printed = printed.then(() => show(event.payload, options, self));
  };
  const me = await act(options, { onEvent, onClose: closed.resolve });
  self = me.handle;
  await me.client.call("watch", fields);
  if (onTerminal && !options.json) await print(dim("watching what happens from now on; Ctrl-C ends it"));
  await closed.promise;
  await printed;
}

async function reachable(): Promise<boolean> {
  try {
    (await Client.connect()).close();
    return true;
  } catch (error) {
    if (error instanceof ProtocolError) return false;
    throw error;
  }
}

async function show(event: WatchPayload, options: WatchOptions & Common, self: string): Promise<void> {
  if (options.notify && event.kind === "message" && event.message.to.includes(self)) desktopNotification(event.message);
  await (options.json ? printJson(event) : print(line(event)));
}

const clockColumns = 9;
const firstLineColumnsMin = 24;

function line(event: WatchPayload): string {
  const at = event.kind === "message" ? event.message.at : event.at;
  return `${dim(clock(at))} ${hanging(happened(event), clockColumns)}`;
}

function happened(event: WatchPayload): string {
  if (event.kind === "message") return messageText(event.message);
  if (event.kind === "state")
    return `${messageId(event.messageId)} ${dim(`thread ${event.threadId}`)} ${peer(event.handle)} ${state(event.state)}`;
  if (event.kind === "presence") return `${peer(event.handle)} is ${presence(event.presence)}`;
  return `${peer(event.from)} is now called ${peer(event.handle)}`;
}

/** The first line is cut to what is left of the terminal's; where that is hardly anything it stands in the next. */
function messageText(m: Summary): string {
  const answer = m.replyTo === null ? "" : ` re m${m.replyTo}${m.verdict ? ` ${verdict(m.verdict)}` : ""}`;
  const head = `${messageId(m.id)} ${dim(`thread ${m.threadId} #${m.seq}`)}${answer} ${route(m)}:`;
  const whole = terminalWidth() - clockColumns;
  const rest = whole - Bun.stringWidth(head) - 1;
  const text = harmlessLine(m.firstLine);
  const fits = rest >= Math.min(firstLineColumnsMin, Bun.stringWidth(text));
  return `${head}${fits ? " " : "\n"}${fitColumns(text, fits ? rest : whole)}`;
}

/** By the desktop's own program; where there is none the line on the terminal has to do. */
function desktopNotification(m: Summary): void {
  const title = `renn: ${harmlessLine(m.from)}`;
  const text = harmlessLine(m.firstLine);
  const script = "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run";
  const command =
    process.platform === "darwin" ? ["osascript", "-e", script, title, text] : ["notify-send", "--app-name=renn", "--", title, text];
  try {
    Bun.spawn(command, { stdio: ["ignore", "ignore", "ignore"] }).unref();
  } catch {
    warn(`no desktop notification: ${command[0]} is not installed`);
  }
}
