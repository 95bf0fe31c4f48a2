// From a seed to a run: which steps, in which order, with which faults; and from a run that failed to the fewest steps that still fail.
import { type Operation, operations } from "./operations.ts";
import { random } from "./random.ts";
import { Simulation } from "./simulation.ts";

/** Steps of one run. */
export const stepsPerSeed = 60;
const totalWeight = operations.reduce((sum, o) => sum + o.weight, 0);

/** What went wrong in a run, in which step, and everything that happened until then. */
export type Failure = { step: number; error: Error; trace: string[] };

function choose(chance: number): Operation {
  let left = chance * totalWeight;
  for (const operation of operations) {
    left -= operation.weight;
    if (left < 0) return operation;
  }
  return operations[0] as Operation;
}

/** A step: one operation, or some in the same turn; with a fault in the store, or the end of the process. Its chances hang on seed and number alone. */
function step(sim: Simulation, seed: number, n: number): void {
  sim.chance = random(Math.imul(seed, 0x9e3779b1) ^ Math.imul(n + 1, 0x85ebca6b));
  const many = sim.says(0.15) ? 2 + Math.floor(sim.chance() * 5) : 1;
  for (let i = 0; i < many; i++) {
    const operation = choose(sim.chance());
    if (operation.alone && many > 1) continue;
    sim.trace.push(`${n}: ${operation.name}`);
    operation.run(sim);
  }
  if (sim.says(0.04)) return crash(sim);
  if (sim.says(0.12)) arm(sim);
  sim.finish();
}

/** The nth write fails, and maybe the mth of the second try too; or the COMMIT does. */
function arm(sim: Simulation): void {
  const { faults } = sim.world;
  faults.endsTransaction = sim.says(0.5);
  if (sim.says(0.4)) faults.commits = 1 + Math.floor(sim.chance() * 3);
  else {
    faults.writesLeft = Math.floor(sim.chance() * 12);
    faults.next = Array.from({ length: Math.floor(sim.chance() * 3) }, () => Math.floor(sim.chance() * 12));
  }
  sim.trace.push(`  the store will fail: ${JSON.stringify(faults)}`);
}

/** The process ends: before anything was committed, or after it was and before anybody heard of it. */
function crash(sim: Simulation): void {
  const before = sim.says(0.5);
  sim.trace.push(`  crash ${before ? "before" : "after"} the commit`);
  if (before) sim.world.faults.commits = Number.POSITIVE_INFINITY;
  sim.world.settle();
  for (const [name, connection] of sim.world.connections) sim.forget(name, connection);
  sim.noFaults();
  sim.world.restart("crash");
  sim.expect.restarted(sim.clockWasSet);
  sim.unconfirmed.length = 0;
  sim.native.frames.length = 0;
  sim.check();
}

/** Runs the given steps of a seed, and `last` at the end. Null when everything held. */
export function play(seed: number, steps: readonly number[], last: (sim: Simulation) => void = () => {}): Failure | null {
  const sim = new Simulation();
  let at = -1;
  try {
    for (const n of steps) {
      at = n;
      step(sim, seed, n);
    }
    at = stepsPerSeed;
    sim.end();
    last(sim);
    return null;
  } catch (error) {
    return { step: at, error: error instanceof Error ? error : new Error(String(error)), trace: sim.trace };
  } finally {
    sim.world.end();
  }
}

export const allSteps: readonly number[] = Array.from({ length: stepsPerSeed }, (_, n) => n);

/** Leaves out what can be left out while it still fails: halves first, then smaller pieces, then single steps. */
export function shrink(seed: number, failure: Failure): Failure {
  let steps = allSteps.filter((n) => n <= failure.step);
  let best = failure;
  for (let size = Math.ceil(steps.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2))
    for (let from = 0; from < steps.length; ) {
      const fewer = steps.filter((_, i) => i < from || i >= from + size);
      const again = play(seed, fewer);
      if (again && again.error.message.slice(0, 20) === failure.error.message.slice(0, 20)) {
        best = again;
        steps = fewer;
      } else from += size;
    }
  return best;
}
