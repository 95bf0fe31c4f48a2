// A few seeds of the simulation in every test run; `bun run sim` plays a thousand.
import { expect, test } from "bun:test";
import { allSteps, play, stepsPerSeed } from "./play.ts";

const seeds = 15;
/** For machines that do other work beside. */
const msMax = 60_000;

test(
  `${seeds} seeds of ${stepsPerSeed} steps hold`,
  () => {
    // Other seeds than those that `bun run sim` begins with.
    const failures = Array.from({ length: seeds }, (_, n) => 1_000_001 + n).flatMap((seed) => {
      const failure = play(seed, allSteps);
      return failure ? [`seed ${seed}: ${failure.error.message}`] : [];
    });
    expect(failures).toEqual([]);
  },
  msMax,
);

test(
  "a run can be played again, step by step the same",
  () => {
    const steps = allSteps.slice(0, 30);
    const traces = [1, 2].map(() => {
      const failure = play(7, steps, () => {
        throw new Error("the end of it");
      });
      return failure?.trace;
    });
    expect(traces[0]?.length).toBeGreaterThan(30);
    expect(traces[0]).toEqual(traces[1]);
  },
  msMax,
);
