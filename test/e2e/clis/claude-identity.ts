// Who a Claude Code session is when it has a subagent or another Claude in its shell.
import { gate, provenFor } from "../common.ts";
import { Model } from "../model.ts";
import { must, until } from "../poll.ts";
import type { Scenario } from "../scenario.ts";
import { type Cli, run, start } from "../session.ts";
import type { World } from "../world.ts";

/** The scenarios. */
export function claudeIdentity(world: World, cli: Cli): Scenario[] {
  const sub = world.folder("claude-subagent");
  const nested = world.folder("claude-nested");
  return [
    { letters: "g", name: "what comes during a subagent goes to the session itself", act: () => subagent(world, cli, sub) },
    { letters: "g", name: "a Claude in a Claude's shell is somebody else", act: () => nestedClaude(world, cli, nested) },
  ];
}

async function subagent(world: World, cli: Cli, folder: string): Promise<void> {
  const hold = gate(folder);
  const { model, ended } = start(world, cli, folder, "delegate it");
  const prompt = "SUBAGENT at work";
  model.script(
    { tool: "Agent", input: { description: "do it", prompt, subagent_type: "general-purpose", run_in_background: false } },
    cli.shell(hold.command),
    { say: "the subagent is done" },
    { say: "all done" },
  );
  await hold.started();
  const handle = await world.handleIn(folder);
  const sent = await world.send(handle, "not for the subagent 55");
  hold.open();
  const { code, output } = await ended;
  must(code === 0, output.slice(-800));
  must(model.requests[1] && firstUserText(model.requests[1]).includes(prompt), "no subagent ran");
  const with55 = model.requests.filter((r) => r.includes("not for the subagent 55"));
  must(with55.length > 0, `no request has it; tools: ${model.tools.slice(0, 30).join(" ")}; ${model.requests.length} requests`);
  must(!with55.some((r) => firstUserText(r).includes(prompt)), "the subagent had it");
  await provenFor(world, sent.messageId, handle);
  model.stop();
}

function firstUserText(request: string): string {
  const { messages } = JSON.parse(request) as { messages: { role: string; content: unknown }[] };
  return JSON.stringify(messages.find((m) => m.role === "user")?.content);
}

async function nestedClaude(world: World, cli: Cli, folder: string): Promise<void> {
  const inner = new Model();
  inner.script(cli.shell("renn whoami > inner.txt"), { tool: cli.tool("send"), input: { to: ["renn"], body: "from inside" } });
  const outer = new Model();
  outer.script(cli.shell(`ANTHROPIC_BASE_URL=${inner.url} claude -p "the inner one" > answer.txt`), cli.shell("renn whoami > outer.txt"), {
    tool: cli.tool("send"),
    input: { to: ["renn"], body: "from outside" },
  });
  await run(world, cli, folder, "start another", { model: outer });
  const read = (name: string) => Bun.file(`${folder}/${name}`).text();
  const name = (text: string) => /^handle\s+(\S+)/m.exec(text)?.[1];
  const [innerName, outerName] = [name(await read("inner.txt")), name(await read("outer.txt"))];
  must(innerName && outerName && innerName !== outerName, `inner ${innerName}, outer ${outerName}`);
  const { threads } = await world.ask<{ threads: { from: string; firstLine: string }[] }>("inbox");
  const from = (line: string) => threads.find((t) => t.firstLine === line)?.from;
  must(from("from inside") === innerName, `the inner tool spoke as ${from("from inside")}, not ${innerName}`);
  must(from("from outside") === outerName, `the outer tool spoke as ${from("from outside")}, not ${outerName}`);
  await until("both have ended", async () => (await world.peersIn(folder)).every((p) => /offline/.test(p.presence)));
  for (const model of [inner, outer]) model.stop();
}
