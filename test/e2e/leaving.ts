// What a CLI has been joined by is taken out again, whatever the CLI wrote into its files meanwhile.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { must } from "./poll.ts";
import type { Scenario } from "./scenario.ts";
import { type Cli, run, type Terminals } from "./session.ts";
import type { World } from "./world.ts";

/** The last scenario of a CLI, whose terminals end with it. */
export function leaving(world: World, terminals: Terminals, cli: Cli): Scenario {
  const folder = world.folder(`${cli.client}-left`);
  const files = cli.joinedBy.map((name) => join(world.home, name));
  const bytes = () => files.map((file) => (existsSync(file) ? readFileSync(file, "latin1") : null));
  const joined = () => bytes().map((text) => /renn(?:\.js|\/bin\/renn)|BusLink/.test(text ?? ""));
  const init = () => world.renn("init", "--yes", "--client", cli.client, ...world.configDir(cli));
  const leave = async () => {
    const gone = await world.renn("uninstall", "--yes", "--client", cli.client);
    must(gone.code === 0, gone.err || gone.out);
    must(!joined().includes(true), `it is still in ${files.filter((_, i) => joined()[i])}`);
  };
  const joinTwice = async () => {
    await init();
    must(!joined().includes(false), `init wrote nothing into ${files.filter((_, i) => !joined()[i])}`);
    const again = await init();
    must(again.out.includes("Nothing to do"), `a second init says ${again.out}`);
  };
  const act = async () => {
    // An open session may write into its own files at any time.
    await terminals.close();
    await joinTwice();
    await leave();
    const model = await run(world, cli, folder, "alone again");
    must(model.requests.length > 0 && !model.tools.some((t) => t.includes("renn")), `its tools are ${model.tools}`);
    must((await world.peersIn(folder)).length === 0, "it joined the bus");
    model.stop();
    // As the CLI itself has left them.
    const before = bytes();
    await joinTwice();
    await leave();
    const changed = files.filter((_, i) => bytes()[i] !== before[i]);
    must(changed.length === 0, `other bytes after init and uninstall: ${changed}`);
  };
  return {
    letters: "i",
    name: "a second init changes nothing; after uninstall the files have their bytes, and it knows nothing of the bus",
    act,
  };
}
