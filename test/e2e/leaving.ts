// What a CLI has been joined by is taken out again, whatever the CLI wrote into its files meanwhile.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { must } from "./poll.ts";
import type { Scenario } from "./scenario.ts";
import { type Cli, run } from "./session.ts";
import type { World } from "./world.ts";

/** The last scenario of a CLI. */
export function leaving(world: World, cli: Cli): Scenario {
  const folder = world.folder(`${cli.client}-left`);
  const act = async () => {
    const files = cli.joinedBy.map((name) => join(world.home, name));
    const joined = (file: string) => existsSync(file) && /renn(?:\.js|\/bin\/renn)|BusLink/.test(readFileSync(file, "utf8"));
    must(files.every(joined), `init wrote nothing into ${files.filter((f) => !joined(f))}`);
    const again = await world.renn("init", "--yes", "--client", cli.client, ...world.configDir(cli));
    must(again.out.includes("Nothing to do"), `a second init says ${again.out}`);
    const gone = await world.renn("uninstall", "--yes", "--client", cli.client);
    must(gone.code === 0, gone.err || gone.out);
    must(!files.some(joined), `it is still in ${files.filter(joined)}`);
    const model = await run(world, cli, folder, "alone again");
    must(model.requests.length > 0 && !model.tools.some((t) => t.includes("renn")), `its tools are ${model.tools}`);
    must((await world.peersIn(folder)).length === 0, "it joined the bus");
    model.stop();
  };
  return { letters: "i", name: "a second init changes nothing; after uninstall it knows nothing of the bus", act };
}
