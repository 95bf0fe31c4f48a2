// Scenarios one after the other: a line for each, and a table of them all.

/** One thing that must hold of one CLI. `letters` are those of the issue: a queued, b in a turn, c idle, d states, e replies, f crash, g identity, h hostile. */
export type Scenario = { letters: string; name: string; act: () => Promise<void> };

export type Outcome = { cli: string; letters: string; name: string; passed: boolean; ms: number; why: string };

/** Runs them in order and prints a line for each. */
export async function play(cli: string, scenarios: readonly Scenario[], logs: () => string): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const { letters, name, act } of scenarios) {
    const began = performance.now();
    let why = "";
    try {
      await act();
    } catch (error) {
      why = error instanceof Error ? (process.env.E2E_TRACE ? `${error.stack}` : error.message) : String(error);
    }
    const ms = performance.now() - began;
    outcomes.push({ cli, letters, name, passed: why === "", ms, why });
    console.log(`${why ? "FAIL" : "PASS"} ${(ms / 1000).toFixed(1).padStart(5)} s  ${cli}: ${letters ? `(${letters}) ` : ""}${name}`);
    if (why) console.log(`     ${why.replaceAll("\n", "\n     ")}\n     ${logs().replaceAll("\n", "\n     ")}`);
  }
  return outcomes;
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
