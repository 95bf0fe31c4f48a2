// Hostile input in one command: `bun run fuzz [--lines 50000] [--seed N]`. Lines go to the broker in a simulated world and over its real socket; the rest
// goes to hooks, settings, transcripts and databases in proportion. What is found ends it with status 1 and the seed that shows it again.
import { inHome, numberOption, withBroker } from "../crash/broker.ts";
import { random } from "../sim/random.ts";
import { fuzzDatabases, fuzzSettings, fuzzTranscripts } from "./files.ts";
import { fuzzHookProcesses, fuzzPayloads, fuzzRows } from "./hooks.ts";
import { LineFuzz } from "./lines.ts";
import { fuzzSocket } from "./socket.ts";

const socketLinesPerHome = 10_000;
const lines = numberOption("lines", 50_000);
const seed = numberOption("seed", 1 + Math.floor(Math.random() * 2 ** 31));
let failed = 0;

/** Runs one kind with chances of its own, so that each can be shown again alone. */
async function kind(name: string, step: (chance: () => number) => unknown): Promise<void> {
  const started = performance.now();
  try {
    const result = await step(random(seed));
    console.log(
      `${name}: ${typeof result === "object" ? JSON.stringify(result) : result}, ${((performance.now() - started) / 1000).toFixed(1)} s`,
    );
  } catch (error) {
    failed++;
    console.log(`${name}: FAILED with seed ${seed}: ${error instanceof Error ? error.message : error}`);
  }
}

console.log(`seed ${seed}`);
const inWorld = Math.round(lines * 0.2);
await kind("lines in a world", (chance) => {
  const fuzz = new LineFuzz(chance);
  fuzz.run(inWorld);
  return { lines: fuzz.lines, texts: fuzz.texts, ...Object.fromEntries(fuzz.codes) };
});
await kind("lines on the socket", async (chance) => {
  const total = { lines: 0, connections: 0 };
  // A fresh home now and then: hostile registers leave thousands of peers, which every status then lists.
  while (total.lines < lines - inWorld)
    await inHome((paths) =>
      withBroker(paths, async () => {
        const result = await fuzzSocket(paths, Math.min(socketLinesPerHome, lines - inWorld - total.lines), chance);
        total.lines += result.lines;
        total.connections += result.connections;
      }),
    );
  return total;
});
await kind("hook payloads", (chance) => fuzzPayloads(lines / 25, chance));
await kind("hook processes", (chance) => fuzzHookProcesses(8, chance));
await kind("transcript rows", (chance) => fuzzRows(lines / 25, chance));
await kind("transcript files", (chance) => fuzzTranscripts(lines / 250, chance));
await kind("settings files", (chance) => fuzzSettings(lines / 500, chance));
await kind("database files", (chance) => fuzzDatabases(lines / 1_000, chance));
console.log(`${lines} lines; failed: ${failed}`);
process.exitCode = failed ? 1 : 0;
