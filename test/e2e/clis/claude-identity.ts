// Who a Claude Code session is when there is another Claude in its shell.
import { Model } from "../model.ts";
import { must, until } from "../poll.ts";
import type { Scenario } from "../scenario.ts";
import { type Cli, run } from "../session.ts";
import type { World } from "../world.ts";

/** The scenarios. */
export function claudeIdentity(world: World, cli: Cli): Scenario[] {
  const nested = world.folder("claude-nested");
  return [{ letters: "g", name: "a Claude in a Claude's shell is somebody else", act: () => nestedClaude(world, cli, nested) }];
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
