// What needs a session that stays open: waking an idle one, a crash between hand-over and proof, two sessions in one folder.
import { answersTo, gate, newestId, provenFor, tag } from "./common.ts";
import type { Model } from "./model.ts";
import { must, until } from "./poll.ts";
import type { Scenario } from "./scenario.ts";
import { type Cli, signal, type Terminal, type Terminals } from "./session.ts";
import { isThere, type World } from "./world.ts";

/** The scenarios of a CLI that something can wake, in the order in which they build on each other. */
export function wakingScenarios(world: World, terminals: Terminals, cli: Cli): Scenario[] {
  const session = sharedSession(world, terminals, cli);
  return [
    {
      letters: "c,d,e",
      name: "sent while idle, it wakes the session, which answers",
      act: async () => {
        const { terminal, handle } = await session.idle();
        await wakes(world, cli, terminal.model, handle);
      },
    },
    {
      letters: "b,d",
      name: "sent while a tool runs in the terminal, in the next request of the same turn",
      act: async () => duringTurn(world, cli, await session.idle()),
    },
    {
      letters: "f",
      name: "killed between hand-over and proof: given again to the resumed session",
      act: async () => crashes(world, await session.idle(), () => session.resume()),
    },
    { letters: "g", name: "two sessions in one folder are two", act: () => twoInOne(world, terminals, cli, session) },
  ];
}

type Session = { terminal: Terminal; handle: string; folder: string };
type Shared = { idle(): Promise<Session>; resume(): Promise<Terminal> };

/** The terminal session that scenarios share. It is opened where none lives, so that each can be played alone, and once more after it failed. */
function sharedSession(world: World, terminals: Terminals, cli: Cli): Shared {
  const folder = world.folder(`${cli.client}-terminal`);
  let terminal: Terminal | undefined;
  let handle = "";
  const resume = async () => {
    terminal = await terminals.open(world, cli, folder, { resume: handle !== "" });
    return terminal;
  };
  return {
    resume,
    async idle() {
      let open = terminal;
      if (!open?.lives) {
        open = await resume();
        await open.prompt("hello there");
        handle ||= await world.handleIn(folder);
      }
      await world.presence(handle, /idle/);
      return { terminal: open, handle, folder };
    },
  };
}

/** The scenarios of a CLI that nothing wakes. */
export function pulledScenarios(world: World, terminals: Terminals, cli: Cli): Scenario[] {
  const session = sharedSession(world, terminals, cli);
  return [
    {
      letters: "c,d",
      name: "sent while idle, it waits for the next prompt, and the send says so",
      act: async () => {
        const { terminal, handle } = await session.idle();
        await waitsForPrompt(world, terminal, handle);
      },
    },
    {
      letters: "b,d",
      name: "sent while the model answers, it continues the turn at its end",
      act: async () => duringAnswer(world, await session.idle()),
    },
    {
      letters: "f",
      name: "killed between hand-over and proof: given again to the resumed session",
      act: async () => crashesAtPrompt(world, await session.idle(), () => session.resume()),
    },
    { letters: "g", name: "two sessions in one folder are two", act: () => twoInOne(world, terminals, cli, session) },
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
async function duringTurn(world: World, cli: Cli, { terminal, handle, folder }: Session): Promise<void> {
  const hold = gate(folder);
  terminal.model.script(cli.shell(hold.command), { say: "turn over" });
  const first = await terminal.prompt("work on it");
  const sent = await hold.during(() => world.send(handle, "while you work 99"));
  const at = await terminal.model.saw(tag(sent.messageId), first);
  must(at === first + 1, `it is in request ${at - first} after the prompt's`);
  await provenFor(world, sent.messageId, handle);
}

/** Sends while the model answers: the turn goes on at its end. */
async function duringAnswer(world: World, { terminal, handle }: Session): Promise<void> {
  const goOn = terminal.model.pause();
  try {
    const first = await terminal.prompt("a short question");
    const sent = await world.send(handle, "at the end of the turn 64");
    goOn();
    must((await terminal.model.saw(tag(sent.messageId), first)) === first + 1, "it is not in the turn's next request");
    await provenFor(world, sent.messageId, handle);
  } finally {
    goOn();
  }
}

/** Kills a session that nothing wakes once a hook has handed a message over, and resumes. */
async function crashesAtPrompt(world: World, { terminal, handle }: Session, resume: () => Promise<Terminal>): Promise<void> {
  const sent = await world.send(handle, "before the crash 31");
  world.killAtHandOver(terminal.processes());
  await terminal.type("one more question");
  await until("it is handed over and given back", () => /sent queued/.test(world.states(sent.messageId, handle).join(" ")));
  const resumed = await resume();
  const at = await resumed.prompt("what now");
  const why = JSON.stringify(await world.why(sent.messageId, handle));
  must(resumed.model.has(at, tag(sent.messageId)), `it did not come again: ${why}`);
  await provenFor(world, sent.messageId, handle);
}

/** Stops the process so that it takes a message and does nothing with it, kills it, and resumes. */
async function crashes(world: World, { terminal, handle }: Session, resume: () => Promise<Terminal>): Promise<void> {
  for (const pid of terminal.processes()) signal(pid, "SIGSTOP");
  const sent = await world.send(handle, "before the crash 31");
  await world.state(sent.messageId, handle, "sent");
  terminal.crash();
  await world.state(sent.messageId, handle, "queued");
  const resumed = await resume();
  await resumed.promptOrWake("what now", tag(sent.messageId));
  await provenFor(world, sent.messageId, handle);
}

async function twoInOne(world: World, terminals: Terminals, cli: Cli, session: Shared): Promise<void> {
  const first = await session.idle();
  const two = await terminals.open(world, cli, first.folder);
  try {
    await two.prompt("hello second");
    const handle = await world.handleIn(first.folder, (p) => p.handle !== first.handle && isThere(p));
    for (const one of [first.handle, handle]) await world.presence(one, /idle/);
    await eachItsOwn(world, cli, first, { terminal: two, handle });
  } finally {
    await two.end();
  }
  await first.terminal.end();
}

type Named = Pick<Session, "terminal" | "handle">;

async function eachItsOwn(world: World, cli: Cli, first: Named, second: Named): Promise<void> {
  const [one, two] = [first.terminal, second.terminal];
  const toOne = await world.send(first.handle, "for the first 11");
  const toTwo = await world.send(second.handle, "for the second 22");
  // Where nothing wakes them they are asked something.
  if (!cli.wakes) await Promise.all([one.prompt("your mail"), two.prompt("your mail")]);
  await Promise.all([one.model.saw(tag(toOne.messageId)), two.model.saw(tag(toTwo.messageId))]);
  // Two sessions may have one model: their first prompts tell them apart.
  const had = (model: Model, prompt: string, text: string) => model.requests.some((r) => r.includes(prompt) && r.includes(text));
  must(!had(one.model, "hello there", "for the second 22"), "the first had the second's message");
  must(!had(two.model, "hello second", "for the first 11"), "the second had the first's message");
  await world.state(toOne.messageId, first.handle, "delivered");
  await world.state(toTwo.messageId, second.handle, "delivered");
}
