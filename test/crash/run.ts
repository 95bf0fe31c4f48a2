// Crashes for real, in one command: `bun run crash [--rounds 20] [--messages 24] [--mixtures 40] [--seed N]`. Kills, power loss, and what can be taken
// from a broker. The last line counts; anything lost ends it with status 1.
import { random as seeded } from "../sim/random.ts";
import { makeHome, numberOption } from "./broker.ts";
import { killRounds } from "./kill.ts";
import { losses } from "./losses.ts";
import { powerLoss } from "./power.ts";

const seed = numberOption("seed", Math.floor(Math.random() * 2 ** 31));
const random = seeded(seed);
let failed = 0;

function fault(what: string): void {
  failed++;
  console.log(`    ${what}`);
}

async function inHome<T>(step: (paths: ReturnType<typeof makeHome>) => Promise<T>): Promise<T> {
  const home = makeHome();
  try {
    return await step(home);
  } finally {
    home.remove();
  }
}

console.log(`seed ${seed}`);
const killed = await inHome((home) => killRounds(home, numberOption("rounds", 20), random));
console.log(
  `kill -9: ${killed.rounds} rounds, ${killed.answered} messages answered, ${killed.unanswered} sent again with their key, ${killed.confirmed} confirmations; lost: ${killed.lost}, doubled: ${killed.doubled}`,
);
if (killed.lost || killed.doubled) fault("messages were lost or doubled");
killed.faults.forEach(fault);

const power = await inHome((home) => powerLoss(home, numberOption("messages", 24), numberOption("mixtures", 40), random));
console.log(`power loss: ${power.cuts} cuts of the WAL, ${power.mixtures} half checkpoints; lost: ${power.lost}`);
if (power.lost) fault("answered messages were lost");
power.faults.forEach(fault);

for (const [name, check] of Object.entries(losses))
  try {
    await check();
    console.log(`${name}: ok`);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (message.startsWith("skipped")) console.log(`${name}: ${message}`);
    else fault(`${name}: ${message}`);
  }
console.log(`lost: ${killed.lost + power.lost}, faults: ${failed}`);
process.exitCode = failed ? 1 : 0;
