// Records the picture of the README: three real CLIs in the panes of one terminal, where Claude Code asks Codex and opencode, and a person looks at the tally. What
// their models say is scripted; all else is the programs' own. Takes dist/renn, and prints the terminal's text;
// CONTRIBUTING.md says how it becomes the picture.
import { join } from "node:path";
import { claude } from "./clis/claude.ts";
import { codex } from "./clis/codex.ts";
import { opencode } from "./clis/opencode.ts";
import { newestId } from "./common.ts";
import { numberIn } from "./cross.ts";
import { installClis } from "./install.ts";
import { until } from "./poll.ts";
import { Terminals } from "./session.ts";
import { World } from "./world.ts";

const columns = 142;
const rows = 46;
const question = "Do we ship today?";
const sum = "Codex is for it. opencode is against: the new migration drops a column and has no way back. I would mend that first.";
/** What the experts are asked first, what they say to that, and how they answer Claude. */
const experts = [
  { cli: codex, hears: "run the tests", says: "All 214 pass.", verdict: "agree", body: "All 214 tests pass." },
  {
    cli: opencode,
    hears: "review the new migration",
    says: "It drops a column and has no way back.",
    verdict: "disagree",
    body: "The new migration drops a column and has no way back.",
  },
];

/** A window of four panes, each with a name above it; their ids from left to right and down. */
function divide(terminals: Terminals, names: string[]): string[] {
  terminals.tmux("new-session", "-d", "-s", "window", "-x", `${columns}`, "-y", `${rows}`, "cat");
  const options = {
    status: "off",
    "default-terminal": "tmux-256color",
    "pane-border-status": "top",
    "pane-border-format": " #{@name} ",
    "pane-active-border-style": "default",
  };
  for (const [name, value] of Object.entries(options)) terminals.tmux("set", "-g", name, value);
  const split = (pane: string, ...how: string[]) =>
    terminals.tmux("split-window", ...how, "-t", pane, "-P", "-F", "#{pane_id}", "cat").trim();
  const one = terminals.tmux("display-message", "-p", "-t", "window", "#{pane_id}").trim();
  const two = split(one, "-h");
  const panes = [one, split(one, "-v", "-l", "11"), two, split(two, "-v")];
  for (const [i, pane] of panes.entries()) terminals.tmux("set", "-p", "-t", pane, "@name", names[i] ?? "");
  return panes;
}

/** Opens an expert, asks it something of its own, and scripts its answer to Claude; its handle. */
async function expert(world: World, terminals: Terminals, pane: string, folder: string, part: (typeof experts)[number]): Promise<string> {
  const { cli, hears, says, verdict, body } = part;
  const terminal = await terminals.open(world, cli, folder, { pane });
  terminal.model.script({ say: says });
  await terminal.prompt(hears);
  const handle = await world.handleIn(folder);
  await world.presence(handle, /idle/);
  terminal.model.script((request) => ({ tool: cli.tool("reply"), input: { messageId: newestId(request), body, verdict } }), {
    say: "I have answered.",
  });
  return handle;
}

/** Plays it; the text of the whole window at its end. */
async function play(world: World, terminals: Terminals): Promise<string> {
  const clis = [claude, codex, opencode];
  const folders = clis.map(() => world.folder("shop"));
  for (const cli of clis) cli.prepare(world, world.made);
  await world.open(clis);
  const [left, shell, ...right] = divide(terminals, [claude.name, "a shell", codex.name, opencode.name]) as [string, string, ...string[]];
  const asking = await terminals.open(world, claude, folders[0] as string, { pane: left });
  const to: string[] = [];
  for (const [i, part] of experts.entries()) to.push(await expert(world, terminals, right[i] as string, folders[i + 1] as string, part));
  let threadId = 0;
  asking.model.script(
    { tool: claude.tool("send"), input: { to, body: question } },
    (request) => {
      threadId = numberIn(request, "threadId");
      return { tool: claude.tool("wait"), input: { threadId } };
    },
    { say: sum },
  );
  await asking.prompt("ask codex and opencode if we ship today");
  await asking.shows(/I would mend that first/);
  for (const handle of to) await world.presence(handle, /idle/);
  const env = Object.entries({ ...world.env, PS1: "$ " }).map(([name, value]) => `${name}=${value}`);
  terminals.tmux("respawn-pane", "-k", "-t", shell, "-c", folders[0] as string, "env", "-i", ...env, "sh");
  terminals.tmux("send-keys", "-t", shell, `renn collect ${threadId}`, "Enter");
  // Seen as somebody sees it who sits before that window.
  terminals.tmux(
    "new-session",
    "-d",
    "-s",
    "seen",
    "-x",
    `${columns}`,
    "-y",
    `${rows}`,
    'S="${TMUX%%,*}"; TMUX= exec tmux -S "$S" attach -t window',
  );
  const seen = () => terminals.tmux("capture-pane", "-e", "-N", "-p", "-t", "seen");
  let last = "";
  return until("a window that has become quiet", async () => {
    const before = last;
    last = seen();
    await Bun.sleep(1_000);
    return /disagree/.test(last) && last === before ? last : null;
  });
}

installClis();
const world = new World(join(import.meta.dir, "../../dist/renn"));
const terminals = new Terminals();
try {
  process.stdout.write(await play(world, terminals));
} finally {
  await terminals.close();
  await world.close();
}
process.exit();
