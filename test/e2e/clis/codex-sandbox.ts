// Codex in its own sandbox, which keeps its shell from Unix sockets and its processes from being found.
import { answersTo, gate, newestId } from "../common.ts";
import { must } from "../poll.ts";
import type { Scenario } from "../scenario.ts";
import { type Cli, start } from "../session.ts";
import type { World } from "../world.ts";

/** The scenarios. */
export function codexSandbox(world: World, codex: Cli): Scenario[] {
  const folder = world.folder("codex-sandbox");
  const cli: Cli = { ...codex, headless: (...given) => ["codex", "exec", "-s", "workspace-write", ...codex.headless(...given).slice(2)] };
  const act = async () => {
    const hold = gate(folder);
    const { model, ended } = start(world, cli, folder, "work for a while");
    let id = 0;
    model.script(
      cli.shell(hold.command),
      (request) => {
        id = newestId(request);
        return cli.shell(`renn reply ${id} "by command"; echo "ended with $?"`);
      },
      () => ({ tool: cli.tool("reply"), input: { messageId: id, body: "by tool", verdict: "info" } }),
      { say: "done" },
    );
    const sent = await hold.during(async () => world.send(await world.handleIn(folder), "from outside the sandbox"));
    const answer = await answersTo(world, sent.threadId);
    await ended;
    must(answer.replies[0]?.body === "by tool", `the wait ended with ${JSON.stringify(answer)}`);
    must(model.has(2, "ended with 5") && /sandbox/.test(model.tail(2)), `the command said ${model.tail(2)}`);
    model.stop();
  };
  return [{ letters: "e", name: "in its sandbox the command says what keeps it, and the tool answers", act }];
}
