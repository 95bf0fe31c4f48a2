// Scenarios one after the other: a line for each, and a table of them all.

/** One thing that must hold of one CLI. `letters` are those of the issue: a queued, b in a turn, c idle, d states, e replies, f crash, g identity, h hostile. */
export type Scenario = { letters: string; name: string; act: () => Promise<void> };

export type Outcome = { cli: string; letters: string; name: string; passed: boolean; tries: number; ms: number };

/** Other people's programs with timers of their own: a scenario that fails is tried once more, and the line and the count say so. */
const triesMax = 2;

/** Runs them in order and prints a line for each try. */
export async function play(cli: string, scenarios: readonly Scenario[], logs: () => string): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const { letters, name, act } of scenarios) {
    let passed = false;
    let tries = 0;
    const began = performance.now();
    while (!passed && tries < triesMax) {
      tries++;
      const why = await failure(act);
      passed = why === "";
      const seconds = ((performance.now() - began) / 1000).toFixed(1).padStart(5);
      const again = tries > 1 ? " (second try)" : "";
      console.log(`${why ? "FAIL" : "PASS"} ${seconds} s  ${cli}: ${letters ? `(${letters}) ` : ""}${name}${again}`);
      if (why) console.log(`     ${why.replaceAll("\n", "\n     ")}\n     ${logs().replaceAll("\n", "\n     ")}`);
    }
    outcomes.push({ cli, letters, name, passed, tries, ms: performance.now() - began });
  }
  return outcomes;
}

/** Why a scenario failed; empty where it did not. */
async function failure(act: () => Promise<void>): Promise<string> {
  try {
    await act();
    return "";
  } catch (error) {
    const told = error instanceof Error ? (process.env.E2E_TRACE ? `${error.stack}` : error.message) : String(error);
    return told || "it failed without a word";
  }
}

/** Scenarios × CLIs by letter: the worst of each, and a dash where a CLI has none. */
export function table(outcomes: readonly Outcome[]): string {
  const clis = [...new Set(outcomes.map((o) => o.cli))];
  const letters = [...new Set(outcomes.flatMap((o) => o.letters.split(",")))].filter(Boolean).sort();
  const cell = (cli: string, letter: string) => {
    const own = outcomes.filter((o) => o.cli === cli && o.letters.split(",").includes(letter));
    return own.length === 0 ? "-" : own.every((o) => o.passed) ? "PASS" : "FAIL";
  };
  const width = Math.max(...clis.map((c) => c.length));
  const head = `${"".padEnd(width)}  ${letters.map((l) => l.padEnd(5)).join("")}`;
  return [head, ...clis.map((cli) => `${cli.padEnd(width)}  ${letters.map((l) => cell(cli, l).padEnd(5)).join("")}`)].join("\n");
}
