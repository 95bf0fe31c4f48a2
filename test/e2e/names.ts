// A session keeps its handle over a clear, and takes the name that its user gives it.
import { provenFor, tag } from "./common.ts";
import { must, until } from "./poll.ts";
import type { Scenario } from "./scenario.ts";
import type { Cli, Terminal, Terminals } from "./session.ts";
import { waitsForPrompt, wakes } from "./terminal.ts";
import type { World } from "./world.ts";

/** The scenarios, as far as the CLI has such commands. */
export function namingScenarios(world: World, terminals: Terminals, cli: Cli): Scenario[] {
  const folder = world.folder(`${cli.client}-names`);
  let terminal: Terminal | undefined;
  const opened = async () => {
    terminal ??= await terminals.open(world, cli, folder);
    return terminal;
  };
  const { clear, rename } = cli;
  const scenarios: Scenario[] = [];
  if (clear) {
    const act = async () => clears(world, cli, await opened(), folder, clear);
    scenarios.push({ letters: "g", name: `after ${clear} it has its handle, and its tools act as it`, act });
  }
  if (rename) {
    const act = async () => renames(world, cli, await opened(), folder, rename);
    scenarios.push({ letters: "g", name: `after ${rename} its handle is the title's, and the old one leads to it`, act });
  }
  return scenarios;
}

async function clears(world: World, cli: Cli, terminal: Terminal, folder: string, command: string): Promise<void> {
  await terminal.prompt("hello there");
  const handle = await world.handleIn(folder);
  await world.presence(handle, /idle/);
  await terminal.type(command);
  await terminal.prompt("a new conversation");
  await world.presence(handle, /idle/);
  must((await world.peersIn(folder)).length === 1, "there is a second peer");
  const last = terminal.model.requests.at(-1) ?? "";
  must(!last.includes("hello there"), "it was not cleared");
  await (cli.wakes ? wakes(world, cli, terminal.model, handle) : waitsForPrompt(world, terminal, handle));
}

async function renames(world: World, cli: Cli, terminal: Terminal, folder: string, command: string): Promise<void> {
  if (!cli.clear) await terminal.prompt("hello there");
  const handle = await world.handleIn(folder);
  await world.presence(handle, /idle/);
  await terminal.type(`${command} Fancy Title É 7`);
  await terminal.prompt("how is it called");
  const renamed = await world.handleIn(folder, (p) => p.handle.startsWith("fancy"));
  must(renamed === "fancy-title-7", `it is called ${renamed}`);
  await world.presence(renamed, /idle/);
  const from = terminal.model.requests.length;
  const sent = await world.send(handle, "to the old name 77");
  if (!cli.wakes) await terminal.prompt("and now");
  await terminal.model.saw(tag(sent.messageId), from);
  await provenFor(world, sent.messageId, renamed);
  await until("it has ended its turn", async () => (await world.peersIn(folder)).some((p) => p.presence === "idle"));
}
