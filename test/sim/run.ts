// The simulation in one command: `bun run sim [--seeds 1000] [--from 1]`, or `--seed N` to play one again and see it shrunk. With
// --first it ends with the first seed that fails and does not shrink it.
import { allSteps, type Failure, play, shrink, stepsPerSeed } from "./play.ts";

function option(name: string, otherwise: number): number {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? otherwise : Number(process.argv[at + 1]);
}

function tell(seed: number, failure: Failure): void {
  if (first) return console.log(`seed ${seed} step ${failure.step}: ${failure.error.message.slice(0, 120)}`);
  const short = shrink(seed, failure);
  console.log(`seed ${seed} fails at step ${failure.step}: ${failure.error.message}`);
  console.log(`shrunk to: ${short.error.message}\n${short.trace.join("\n")}\n${short.error.stack ?? ""}`);
}

const first = process.argv.includes("--first");
const one = option("seed", 0);
const from = one || option("from", 1);
const seeds = one ? 1 : option("seeds", 1_000);
const started = performance.now();
let failed = 0;
for (let seed = from; seed < from + seeds && failed < (first ? 1 : 3); seed++) {
  const failure = play(seed, allSteps);
  if (!failure) continue;
  failed++;
  tell(seed, failure);
}
const seconds = ((performance.now() - started) / 1000).toFixed(1);
console.log(`${seeds} seeds of ${stepsPerSeed} steps in ${seconds} s; failed: ${failed}`);
process.exitCode = failed ? 1 : 0;
