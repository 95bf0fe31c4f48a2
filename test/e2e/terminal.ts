// What needs a session that stays open: waking an idle one, a crash between hand-over and proof, two sessions in one folder.
import { answersTo, gate, newestId, provenFor, tag } from "./common.ts";
import type { Model } from "./model.ts";
import { must, until } from "./poll.ts";
import type { Scenario } from "./scenario.ts";
import { type Cli, signal, type Terminal, type Terminals } from "./session.ts";
import type { World } from "./world.ts";

/** The scenarios of a CLI that something can wake, in the order in which they build on each other. */
export function wakingScenarios(world: World, terminals: Terminals, cli: Cli): Scenario[] {
  const folder = world.folder(`${cli.client}-terminal`);
  let terminal: Terminal;
  let handle = "";
  return [
    {
      letters: "c,d,e",
      name: "sent while idle, it wakes the session, which answers",
      act: async () => {
        terminal = await terminals.open(world, cli, folder);
        await terminal.prompt("hello there");
        handle = await world.handleIn(folder);
        await world.presence(handle, /idle/);
        await wakes(world, cli, terminal.model, handle);
      },
    },
    {
      letters: "b,d",
      name: "sent while a tool runs in the terminal, in the next request of the same turn",
      act: async () => {
        await world.presence(handle, /idle/);
        await duringTurn(world, cli, terminal, folder, handle);
      },
    },
    {
      letters: "f",
      name: "killed between hand-over and proof: given again to the resumed session",
      act: async () => {
        await world.presence(handle, /idle/);
        terminal = await crashes(world, terminals, cli, terminal, folder, handle);
      },
    },
    {
      letters: "g",
      name: "two sessions in one folder are two",
      act: async () => {
        await twoInOne(world, terminals, cli, terminal, folder, handle);
        await terminal.end();
      },
    },
  ];
}

/** The scenarios of a CLI that nothing wakes. */
export function pulledScenarios(world: World, terminals: Terminals, cli: Cli): Scenario[] {
  const folder = world.folder(`${cli.client}-terminal`);
  let terminal: Terminal;
  let handle = "";
  return [
    {
      letters: "c,d",
      name: "sent while idle, it waits for the next prompt, and the send says so",
      act: async () => {
        terminal = await terminals.open(world, cli, folder);
        await terminal.prompt("hello there");
        handle = await world.handleIn(folder);
        await world.presence(handle, /idle/);
        await waitsForPrompt(world, terminal, handle);
      },
    },
    {
      letters: "b,d",
      name: "sent while the model answers, it continues the turn at its end",
      act: async () => {
        await world.presence(handle, /idle/);
        const goOn = terminal.model.pause();
        const first = await terminal.prompt("a short question");
        const sent = await world.send(handle, "at the end of the turn 64");
        goOn();
        must((await terminal.model.saw(tag(sent.messageId), first)) === first + 1, "it is not in the turn's next request");
        await provenFor(world, sent.messageId, handle);
      },
    },
    {
      letters: "f",
      name: "killed between hand-over and proof: given again to the resumed session",
      act: async () => {
        await world.presence(handle, /idle/);
        const sent = await world.send(handle, "before the crash 31");
        world.killAtHandOver(terminal.processes());
        await terminal.type("one more question");
        await until("it is handed over and given back", () => /sent queued/.test(world.states(sent.messageId, handle).join(" ")));
        const resumed = await terminals.open(world, cli, folder, { resume: true });
        const at = await resumed.prompt("what now");
        const why = JSON.stringify(await world.why(sent.messageId, handle));
        must(resumed.model.has(at, tag(sent.messageId)), `it did not come again: ${why}`);
        await provenFor(world, sent.messageId, handle);
        terminal = resumed;
      },
    },
    {
      letters: "g",
      name: "two sessions in one folder are two",
      act: async () => {
        await twoInOne(world, terminals, cli, terminal, folder, handle);
        await terminal.end();
      },
    },
  ];
}

/** Sends to an idle session that nothing wakes, and prompts it. */
export async function waitsForPrompt(world: World, terminal: Terminal, handle: string): Promise<void> {
  const from = terminal.model.requests.length;
  const sent = await world.send(handle, "no hurry 17");
  const delivery = sent.deliveries[0];
  must(delivery?.state === "queued" && delivery.reach === "next-turn", `the send says ${JSON.stringify(delivery)}`);
  const at = await terminal.prompt("what is new");
  must(at === from && terminal.model.has(at, tag(sent.messageId)), "it is not in the prompt's request");
  await provenFor(world, sent.messageId, handle);
}

/** Sends to an idle session and sees it answer by itself. */
export async function wakes(world: World, cli: Cli, model: Model, handle: string): Promise<void> {
  const from = model.requests.length;
  model.script((request) => ({ tool: cli.tool("reply"), input: { messageId: newestId(request), body: "awake", verdict: "info" } }), {
    say: "done",
  });
  const sent = await world.send(handle, "wake up 815");
  await model.saw(tag(sent.messageId), from);
  const answer = await answersTo(world, sent.threadId);
  must(answer.conditionMet && answer.replies[0]?.body === "awake", `the wait ended with ${JSON.stringify(answer)}`);
  const why = await world.why(sent.messageId, handle);
  must(why.state === "replied", `the state is ${why.state}`);
  await world.presence(handle, /idle/);
}

/** Sends while a tool runs: no turn of its own, and proven without an answer. */
async function duringTurn(world: World, cli: Cli, terminal: Terminal, folder: string, handle: string): Promise<void> {
  const hold = gate(folder);
  terminal.model.script(cli.shell(hold.command), { say: "turn over" });
  const first = await terminal.prompt("work on it");
  await hold.started();
  const sent = await world.send(handle, "while you work 99");
  hold.open();
  const at = await terminal.model.saw(tag(sent.messageId), first);
  must(at === first + 1, `it is in request ${at - first} after the prompt's`);
  await provenFor(world, sent.messageId, handle);
}

/** Stops the process so that it takes a message and does nothing with it, kills it, and resumes. */
async function crashes(
  world: World,
  terminals: Terminals,
  cli: Cli,
  terminal: Terminal,
  folder: string,
  handle: string,
): Promise<Terminal> {
  for (const pid of terminal.processes()) signal(pid, "SIGSTOP");
  const sent = await world.send(handle, "before the crash 31");
  await world.state(sent.messageId, handle, "sent");
  terminal.crash();
  await world.state(sent.messageId, handle, "queued");
  const resumed = await terminals.open(world, cli, folder, { resume: true });
  const at = await resumed.promptOrWake("what now", tag(sent.messageId));
  must(at >= 0, "it did not come again");
  await provenFor(world, sent.messageId, handle);
  return resumed;
}

async function twoInOne(world: World, terminals: Terminals, cli: Cli, one: Terminal, folder: string, handle: string): Promise<void> {
  const two = await terminals.open(world, cli, folder);
  await two.prompt("hello second");
  const second = await world.handleIn(folder, (p) => p.handle !== handle);
  await world.presence(handle, /idle/);
  await world.presence(second, /idle/);
  const toOne = await world.send(handle, "for the first 11");
  const toTwo = await world.send(second, "for the second 22");
  // Where nothing wakes them they are asked something.
  if (!cli.wakes) await Promise.all([one.prompt("your mail"), two.prompt("your mail")]);
  await Promise.all([one.model.saw(tag(toOne.messageId)), two.model.saw(tag(toTwo.messageId))]);
  // Two sessions may have one model: their first prompts tell them apart.
  const had = (model: Model, first: string, text: string) => model.requests.some((r) => r.includes(first) && r.includes(text));
  must(!had(one.model, "hello there", "for the second 22"), "the first had the second's message");
  must(!had(two.model, "hello second", "for the first 11"), "the second had the first's message");
  await until(
    "both proven",
    async () =>
      (await world.why(toOne.messageId, handle)).state === "delivered" && (await world.why(toTwo.messageId, second)).state === "delivered",
  );
  await two.end();
}
