// The real CLIs on the bus, offline, against stand-in models: `bun run e2e [pattern]`. Prints a line for each scenario and a table, and ends with
// status 1 where one failed. They come from the package registry once, into .cache/e2e.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compile } from "../../build.ts";
import { claude } from "./clis/claude.ts";
import { claudeIdentity } from "./clis/claude-identity.ts";
import { codex } from "./clis/codex.ts";
import { codexSandbox } from "./clis/codex-sandbox.ts";
import { gemini } from "./clis/gemini.ts";
import { opencode } from "./clis/opencode.ts";
import { pi } from "./clis/pi.ts";
import { headlessScenarios } from "./common.ts";
import { crossClis, crossScenarios } from "./cross.ts";
import { installClis } from "./install.ts";
import { leaving } from "./leaving.ts";
import { namingScenarios } from "./names.ts";
import { type Outcome, play, type Scenario, table } from "./scenario.ts";
import { type Cli, Terminals } from "./session.ts";
import { pulledScenarios, wakingScenarios } from "./terminal.ts";
import { World } from "./world.ts";

const only = process.argv[2] ? new RegExp(process.argv[2], "i") : undefined;
installClis();
const folder = mkdtempSync(join(tmpdir(), "renn-build-"));
const program = process.env.E2E_RENN ?? join(folder, "renn");
if (!process.env.E2E_RENN) await compile(join(import.meta.dir, "../../src/main.ts"), program);
type Scenarios = (world: World, terminals: Terminals, cli: Cli) => Scenario[];
type Group = { name: string; clis: Cli[]; scenarios: (world: World, terminals: Terminals) => Scenario[] };
const group = (cli: Cli, scenarios: Scenarios): Group => ({
  name: cli.name,
  clis: [cli],
  scenarios: (w, t) => [...scenarios(w, t, cli), leaving(w, t, cli)],
});
const waking: Scenarios = (w, t, c) => [...headlessScenarios(w, c), ...wakingScenarios(w, t, c), ...namingScenarios(w, t, c)];
const pulled: Scenarios = (w, t, c) => [...headlessScenarios(w, c), ...pulledScenarios(w, t, c), ...namingScenarios(w, t, c)];
const groups: Group[] = [
  group(claude, (w, t, c) => [...waking(w, t, c), ...claudeIdentity(w, c)]),
  group(codex, (w, t, c) => [...waking(w, t, c), ...codexSandbox(w, c)]),
  group(opencode, waking),
  group(gemini, pulled),
  group(pi, waking),
  { name: "several together", clis: crossClis, scenarios: crossScenarios },
];
const outcomes: Outcome[] = [];
let leave = async () => {};
// What is interrupted takes its programs along.
for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => void leave().finally(() => process.exit(130)));
const began = performance.now();
for (const { name, clis, scenarios } of groups) {
  const world = new World(program);
  const terminals = new Terminals();
  leave = async () => {
    await terminals.close();
    await world.close();
  };
  try {
    const all = scenarios(world, terminals).filter((s) => !only || only.test(`${name} ${s.letters} ${s.name}`));
    for (const cli of clis) cli.prepare(world, world.made);
    if (all.length) await world.open(clis);
    outcomes.push(...(await play(name, all, () => world.logs())));
  } finally {
    await leave();
  }
}
rmSync(folder, { recursive: true, force: true });
const failed = outcomes.filter((o) => !o.passed).length;
const second = outcomes.filter((o) => o.passed && o.tries > 1).length;
console.log(
  `\n${table(outcomes)}\n\n${outcomes.length - failed} passed, ${failed} failed, ${second} passed at the second try, ${((performance.now() - began) / 1000).toFixed(0)} s`,
);
process.exit(failed ? 1 : 0);
