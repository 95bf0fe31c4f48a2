// Sessions of different CLIs with each other: they ask, answer and tally by tools, and stay themselves inside each other's shells.
import { claude } from "./clis/claude.ts";
import { codex, modelOption } from "./clis/codex.ts";
import { gemini } from "./clis/gemini.ts";
import { opencode } from "./clis/opencode.ts";
import { gate, newestId, tag } from "./common.ts";
import { Model, type Turn } from "./model.ts";
import { must } from "./poll.ts";
import type { Scenario } from "./scenario.ts";
import { type Cli, run, start, type Terminal, type Terminals } from "./session.ts";
import type { World } from "./world.ts";

/** The CLIs that take part. */
export const crossClis = [claude, codex, opencode, gemini];

type Tally = { verdictTally: Record<string, number>; recipients: { handle: string; state: string; verdict: string | null }[] };

/** The scenarios. */
export function crossScenarios(world: World, terminals: Terminals): Scenario[] {
  // Folders are made first, since some CLIs ask whether to trust one that they do not know.
  const asking = { asks: world.folder("claude-asks"), codex: world.folder("codex-expert"), opencode: world.folder("opencode-expert") };
  const wondering = { asks: world.folder("claude-wonders"), answers: world.folder("gemini-answers") };
  const shells = world.folder("shells");
  return [
    {
      letters: "e",
      name: "Claude asks Codex and opencode, both idle; their verdicts tally",
      act: () => consults(world, terminals, asking),
    },
    {
      letters: "e",
      name: "Claude's send tool reaches Gemini's hook, and the answer is the wait tool's result",
      act: () => toolToHook(world, wondering),
    },
    { letters: "g", name: "Codex in Claude's shell and Claude in Gemini's are themselves", act: () => shellsInShells(world, shells) },
  ];
}

/** A number that a tool's result in the request names. */
export function numberIn(request: string, field: string): number {
  const found = [...request.matchAll(new RegExp(`\\\\*"${field}\\\\*":\\s*(\\d+)`, "g"))].at(-1);
  must(found, `no ${field} in the model's request`);
  return Number(found[1]);
}

/** A terminal session that answers what wakes it with a verdict. */
async function expert(
  world: World,
  terminals: Terminals,
  cli: Cli,
  folder: string,
  verdict: string,
): Promise<{ terminal: Terminal; handle: string }> {
  const terminal = await terminals.open(world, cli, folder);
  await terminal.prompt("hello there");
  const handle = await world.handleIn(folder);
  await world.presence(handle, /idle/);
  const answer: Turn = (request) => ({
    tool: cli.tool("reply"),
    input: { messageId: newestId(request), body: `${verdict}, says ${cli.client}`, verdict },
  });
  terminal.model.script(answer, { say: "answered" });
  return { terminal, handle };
}

async function consults(world: World, terminals: Terminals, folders: { asks: string; codex: string; opencode: string }): Promise<void> {
  const [yes, no] = await Promise.all([
    expert(world, terminals, codex, folders.codex, "agree"),
    expert(world, terminals, opencode, folders.opencode, "disagree"),
  ]);
  const model = new Model();
  let threadId = 0;
  model.script(
    { tool: claude.tool("send"), input: { to: [yes.handle, no.handle], body: "ship it on Friday?" } },
    (request) => {
      threadId = numberIn(request, "threadId");
      return { tool: claude.tool("wait"), input: { threadId, timeoutMs: 90_000 } };
    },
    () => ({ tool: claude.tool("collect"), input: { threadId } }),
    { say: "one for, one against" },
  );
  await run(world, claude, folders.asks, "ask the others", { model });
  const waited = model.requests[2] ?? "";
  must(waited.includes("agree, says codex") && waited.includes("disagree, says opencode"), `the wait gave ${model.tail(2)}`);
  const tally = await world.ask<Tally>("collect", String(threadId));
  const counts = tally.verdictTally;
  must(counts.agree === 1 && counts.disagree === 1 && counts.pending === 0, `the tally is ${JSON.stringify(counts)}`);
  must(
    tally.recipients.every((r) => r.state === "replied"),
    `states ${JSON.stringify(tally.recipients)}`,
  );
  await yes.terminal.end();
  await no.terminal.end();
}

async function toolToHook(world: World, folders: { asks: string; answers: string }): Promise<void> {
  const hold = gate(folders.answers);
  const other = start(world, gemini, folders.answers, "work for a while");
  other.model.script(
    gemini.shell(hold.command),
    (request) => ({ tool: gemini.tool("reply"), input: { messageId: newestId(request), body: "it is 8080", verdict: "info" } }),
    { say: "done" },
  );
  const model = new Model();
  const to = await hold.during(async () => {
    const handle = await world.handleIn(folders.answers);
    model.script(
      { tool: claude.tool("send"), input: { to: [handle], body: "which port is it?" } },
      (request) => {
        hold.open();
        return { tool: claude.tool("wait"), input: { threadId: numberIn(request, "threadId") } };
      },
      { say: "thanks" },
    );
    await run(world, claude, folders.asks, "ask for the port", { model });
    return handle;
  });
  await other.ended;
  must(model.has(2, "it is 8080"), `the wait gave ${model.tail(2)}`);
  const messageId = newestId(other.model.requests[1] ?? "");
  must(other.model.has(1, tag(messageId)), "Gemini's hook did not give it");
  const state = (await world.why(messageId, to)).state;
  must(state === "replied", `the state is ${state}`);
}

async function shellsInShells(world: World, folder: string): Promise<void> {
  const whoami = (name: string) => `renn whoami > ${name}.txt`;
  const models = { codex: new Model(), claude: new Model(), gemini: new Model(), inner: new Model() };
  const quote = (words: string[]) => words.map((w) => `'${w}'`).join(" ");
  const env = (cli: Cli, model: Model) =>
    Object.entries(cli.env(model))
      .map(([k, v]) => `${k}='${v}'`)
      .join(" ");
  models.codex.script(codex.shell(whoami("codex-in-claude")));
  const codexInside = `${env(codex, models.codex)} ${quote(["codex", "exec", ...modelOption(models.codex.url), "--skip-git-repo-check", "who are you"])} > codex.log 2>&1 < /dev/null`;
  models.claude.script(claude.shell(codexInside), claude.shell(whoami("claude")));
  await run(world, claude, folder, "start a Codex", { model: models.claude });
  models.inner.script(claude.shell(whoami("claude-in-gemini")));
  const claudeInside = `${env(claude, models.inner)} claude -p inside > claude.log 2>&1 < /dev/null`;
  models.gemini.script(gemini.shell(claudeInside), gemini.shell(whoami("gemini")));
  await run(world, gemini, folder, "start a Claude", { model: models.gemini });
  const named = async (file: string) => /^handle\s+(\S+)/m.exec(await Bun.file(`${folder}/${file}.txt`).text())?.[1] ?? "";
  // A headless run that has no message is forgotten at its end, and its handle is free again.
  for (const file of ["codex-in-claude", "claude", "claude-in-gemini", "gemini"]) {
    const handle = await named(file);
    must(handle.startsWith(`${file.split("-")[0]}-`), `${file} is called ${handle}`);
  }
  for (const model of Object.values(models)) model.stop();
}
