// The real CLIs on the bus, offline, against stand-in models: `bun run e2e [pattern]`. Prints a line for each scenario and a table, and ends with
// status 1 where one failed. They come from the package registry once, into .cache/e2e.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compile } from "../../build.ts";
import { claude } from "./clis/claude.ts";
import { claudeIdentity } from "./clis/claude-identity.ts";
import { codex } from "./clis/codex.ts";
import { gemini } from "./clis/gemini.ts";
import { opencode } from "./clis/opencode.ts";
import { pi } from "./clis/pi.ts";
import { headlessScenarios } from "./common.ts";
import { installClis } from "./install.ts";
import { type Outcome, play, type Scenario, table } from "./scenario.ts";
import { type Cli, Terminals } from "./session.ts";
import { pulledScenarios, wakingScenarios } from "./terminal.ts";
import { World } from "./world.ts";

const only = process.argv[2] ? new RegExp(process.argv[2], "i") : undefined;
installClis();
const folder = mkdtempSync(join(tmpdir(), "renn-build-"));
const program = process.env.E2E_RENN ?? join(folder, "renn");
if (!process.env.E2E_RENN) await compile(join(import.meta.dir, "../../src/main.ts"), program);
type Group = { cli: Cli; scenarios: (world: World, terminals: Terminals, cli: Cli) => Scenario[] };
const groups: Group[] = [
  { cli: claude, scenarios: (w, t, c) => [...headlessScenarios(w, c), ...wakingScenarios(w, t, c), ...claudeIdentity(w, t, c)] },
  { cli: codex, scenarios: (w, t, c) => [...headlessScenarios(w, c), ...wakingScenarios(w, t, c)] },
  { cli: opencode, scenarios: (w, t, c) => [...headlessScenarios(w, c), ...wakingScenarios(w, t, c)] },
  { cli: gemini, scenarios: (w, t, c) => [...headlessScenarios(w, c), ...pulledScenarios(w, t, c)] },
  { cli: pi, scenarios: (w, t, c) => [...headlessScenarios(w, c), ...wakingScenarios(w, t, c)] },
];
const outcomes: Outcome[] = [];
const began = performance.now();
for (const { cli, scenarios } of groups) {
  const world = new World(program);
  const terminals = new Terminals();
  try {
    const all = scenarios(world, terminals, cli).filter((s) => !only || only.test(`${cli.name} ${s.letters} ${s.name}`));
    cli.prepare(world, world.made);
    if (all.length) await world.open([cli]);
    outcomes.push(...(await play(cli.name, all, () => world.logs())));
  } finally {
    terminals.close();
    await world.close();
  }
}
rmSync(folder, { recursive: true, force: true });
const failed = outcomes.filter((o) => !o.passed).length;
console.log(
  `\n${table(outcomes)}\n\n${outcomes.length - failed} passed, ${failed} failed, ${((performance.now() - began) / 1000).toFixed(0)} s`,
);
process.exit(failed ? 1 : 0);
