// status, whoami, name, prune, group, mute: who is on the bus.
import type { Command } from "commander";
import { dayMs } from "../../protocol/constants.ts";
import type { PeerRecord, Result } from "../../protocol/schemas.ts";
import { harmlessLine } from "../../protocol/text.ts";
import { version } from "../../version.ts";
import { handleCell } from "./message.ts";
import { hint, print, printJson, UsageError, warn } from "./output.ts";
import { type Common, optionsOf, withBus } from "./run.ts";
import {
  ago,
  bold,
  type Cell,
  dim,
  durationMs,
  examples,
  facts,
  indented,
  left,
  peer,
  presence,
  presencePaint,
  red,
  table,
  terminalWidth,
  wrapped,
  yellow,
} from "./style.ts";

const muteExamples: [string, string][] = [
  ["renn mute", "who is muted, and for how long"],
  ["renn mute api 2h", "nothing of api for two hours"],
  ["renn mute @all 30m", "nothing of anybody but the owner"],
  ["renn mute api off", "hear api again"],
];

/** Adds `status`, `whoami`, `name`, `mute` and `prune`. */
export function registerPeers(program: Command): void {
  program
    .command("status")
    .summary("show who is on the bus")
    .description(
      "Shows each peer: whether it is there, what it has not read, the asks that it has not answered, when it was last seen, its CLI and folder.",
    )
    .option("--live", "leave out those who are offline")
    .action(async (_options, command: Command) => status(optionsOf(command)));
  program
    .command("whoami")
    .summary("show who you are here")
    .action(async (_options, command: Command) => whoami(optionsOf(command)));
  program
    .command("name")
    .summary("give this session a handle of your choice")
    .argument("<handle>", "lowercase letters, digits and hyphens, 2 to 48 characters")
    .action(async (handle: string, _options, command: Command) => name(handle, optionsOf(command)));
  program
    .command("mute")
    .summary("let the messages of a peer come only into the inbox for a time")
    .description(
      "Messages of the peer, or of everybody (@all), come only into the inbox for the time. `off` ends it. The owner's are never muted. Without arguments it shows who is muted.",
    )
    .argument("[handle]", "whose; @all, or a time alone, is everybody's")
    .argument("[time]", "30m, 2h (default 1h), off")
    .addHelpText("after", () => `\n${examples("Examples:", muteExamples)}`)
    .action(async (handle: string | undefined, time: string | undefined, _options, command: Command) =>
      mute(handle, time, optionsOf(command)),
    );
  program
    .command("prune")
    .summary("delete peers that have nothing any more")
    .description("Deletes peers without live session, message, delivery, group or connection.")
    .action(async (_options, command: Command) => prune(optionsOf(command)));
}

const order = (p: PeerRecord) => (p.owner ? 0 : p.presence === "offline" || p.presence === "presumed-offline" ? 2 : 1);

async function status(options: { live?: boolean } & Common): Promise<void> {
  await withBus(options, async (me) => {
    const result = await me.client.call("status", options.live ? { live: true } : {});
    if (options.json) return printJson(result);
    const peers = [...result.peers].sort((a, b) => order(a) - order(b) || (a.handle < b.handle ? -1 : 1));
    await print(peersText(peers, me.handle));
    if (peers.every((p) => p.owner))
      await hint("renn init (lets your CLI sessions join)", "RENN_HANDLE=api renn whoami (makes this shell a peer)");
  });
}

const headings = ["handle", "presence", "unread", "asks", "seen", "cli", "folder", "about", "version"];

/** As many columns as fit the terminal whole; what has none stands in a line of its own below its peer. */
function peersText(peers: PeerRecord[], self: string): string {
  const rows = peers.map((p) => peerCells(p, self));
  for (const columns of [headings.length, 6]) {
    const text = peersTable(rows, columns, Number.POSITIVE_INFINITY);
    if (text.split("\n").every((line) => Bun.stringWidth(line) <= terminalWidth())) return text;
  }
  return peersTable(rows, 4, terminalWidth());
}

function peersTable(rows: Cell[][], columns: number, width: number): string {
  const lines = table(headings.slice(0, columns), rows, width).split("\n");
  return lines.flatMap((line, i) => [line, ...belowText(rows[i - 1]?.slice(columns))]).join("\n");
}

function belowText(cells: Cell[] = []): string[] {
  const texts = cells.map((cell) => (typeof cell === "string" ? cell : cell.text)).filter((text) => text);
  return texts.length ? [dim(indented(texts.join(" · "), 2))] : [];
}

function peerCells(p: PeerRecord, self: string): Cell[] {
  const about = [p.owner ? "the owner" : "", p.display ?? "", p.role ?? ""]
    .filter((text) => text)
    .map(harmlessLine)
    .join(" · ");
  return [
    p.handle === self ? { text: `${p.handle} (you)`, paint: bold } : handleCell(p.handle),
    { text: p.presence, paint: presencePaint[p.presence] },
    p.unread ? { text: String(p.unread), paint: yellow } : "",
    // Whoever has left will hardly answer: that is what the asker must see.
    p.unanswered ? { text: `${p.unanswered} unanswered`, paint: order(p) === 2 ? red : yellow } : "",
    { text: ago(p.lastSeenAt), paint: dim },
    p.client ?? "",
    shortFolder(p.cwd),
    about,
    p.version === null || p.version === version ? "" : harmlessLine(p.version),
  ];
}

/** With `~` for the home; where the terminal is narrow only the last names, which tell folders apart: two, or one where two are too long. */
function shortFolder(cwd: string | null): string {
  const home = process.env.HOME;
  const text = harmlessLine(cwd ?? "");
  const whole = home && (text === home || text.startsWith(`${home}/`)) ? `~${text.slice(home.length)}` : text;
  if (terminalWidth() >= 120 || whole.length <= 24) return whole;
  const end = (names: number) => `…/${whole.split("/").slice(-names).join("/")}`;
  return end(2).length > terminalWidth() - 12 ? end(1) : end(2);
}

async function whoami(options: Common): Promise<void> {
  await withBus(options, async (me) => {
    const result = await me.client.call("whoami", {});
    return options.json ? printJson(result) : print(whoamiText(result));
  });
}

const reachWords = { now: "at once", "next-turn": "at the next turn", "when-back": "when it is back" } as const;

function whoamiText(who: Result<"whoami">): string {
  const rows: [string, string][] = [
    ["handle", `${peer(who.handle)}${who.owner ? " (the owner)" : ""}${who.pinned ? dim(" pinned") : ""}`],
    ["via", who.via ? peer(who.via) : ""],
    ["display", harmlessLine(who.display ?? "")],
    ["role", harmlessLine(who.role ?? "")],
    ["cli", who.client ?? ""],
    ["folder", shortFolder(who.cwd)],
    ["presence", presence(who.presence)],
    ["reached", reachWords[who.reach]],
    ["groups", who.groups.join(", ")],
    ["unread", String(who.unread)],
    ["muted", who.muted.map((m) => `${m.handle ?? "everybody"} for ${left(m.until)}`).join(", ")],
    ["note", who.peek ? "you look from outside this session: reading changes nothing" : ""],
  ];
  return facts(rows.filter(([, value]) => value));
}

async function name(handle: string, options: Common): Promise<void> {
  await withBus(options, async (me) => {
    const result = await me.client.call("name", { handle });
    if (process.env.RENN_HANDLE === me.handle)
      warn(`RENN_HANDLE here still says ${me.handle}; go on with: export RENN_HANDLE=${result.handle}`);
    return options.json
      ? printJson(result)
      : print(wrapped(`${peer(me.handle)} is now called ${peer(result.handle)}; the old name reaches it for a day`));
  });
}

const muteMsMax = 30 * dayMs;

async function mute(first: string | undefined, second: string | undefined, options: Common): Promise<void> {
  // A bare number is rather a handle than a time.
  if (first === undefined) return muted(options);
  const isTime = (text: string) => text === "off" || (durationMs(text) !== null && !/^\d+$/.test(text));
  const timeAlone = second === undefined && isTime(first);
  const handle = timeAlone || first === "@all" ? undefined : first;
  const time = timeAlone ? first : (second ?? "1h");
  const forMs = time === "off" ? 0 : durationMs(time);
  if (forMs === null || forMs > muteMsMax)
    throw new UsageError(`the time must be such as 30m, 2h or off, at most 30d, and is ${JSON.stringify(time)}`);
  await withBus(options, async (me) => {
    const result = await me.client.call("mute", { forMs, ...(handle === undefined ? {} : { handle }) });
    await (options.json ? printJson(result) : print(mutedText(result.muted, forMs === 0)));
  });
}

async function muted(options: Common): Promise<void> {
  await withBus(options, async (me) => {
    const list = (await me.client.call("whoami", {})).muted;
    await (options.json ? printJson({ muted: list }) : print(mutedText(list, false)));
  });
}

function mutedText(list: Result<"mute">["muted"], still: boolean): string {
  const lines = list.map((m) => `${m.handle ? peer(m.handle) : "everybody"} is ${still ? "still " : ""}muted for ${left(m.until)}`);
  return lines.join("\n") || "nobody is muted";
}

async function prune(options: Common): Promise<void> {
  await withBus(options, async (me) => {
    const result = await me.client.call("prune", {});
    if (options.json) return printJson(result);
    await print(result.removed.length ? wrapped(`deleted ${result.removed.join(", ")}`) : "nothing to delete");
  });
}
