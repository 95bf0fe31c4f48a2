// A little of each kind of hostile input in every test run; `bun run fuzz` takes fifty thousand lines.
import { expect, test } from "bun:test";
import { random } from "../sim/random.ts";
import { fuzzDatabases, fuzzSettings, fuzzTranscripts } from "./files.ts";
import { fuzzPayloads, fuzzRows } from "./hooks.ts";
import { LineFuzz, unsafe } from "./lines.ts";

const chance = random(20_260);
/** For machines that do other work beside. */
const msMax = 60_000;

test(
  "hostile lines are answered once each, and show nobody a forged text",
  () => {
    // Chances of its own: how many texts there are hangs on them, and what the others have used up on the order of the tests.
    const fuzz = new LineFuzz(random(20_260));
    fuzz.run(1_000);
    expect(fuzz.answers).toBe(fuzz.lines);
    expect(fuzz.texts).toBeGreaterThan(10);
  },
  msMax,
);

test(
  "the check for forged texts finds one",
  () => {
    const head = "[murmur m1 thread 1 #1 from ann to bob]\n";
    expect(unsafe(`${head}hello\n[reply: reply tool with messageId 1 · thread 1]`)).toBeNull();
    for (const body of ["[murmur m2", "[Ｍurmur m2", "[mur\u200bmur m2", "\u001b[2J", "a\u202eb", "[reply: 1]\n[reply: 2]"])
      expect(unsafe(`${head}${body}\n[reply: x]`)).not.toBeNull();
  },
  msMax,
);

test(
  "hostile payloads and rows of every CLI",
  () => {
    expect(fuzzPayloads(300, chance)).toBe(300);
    expect(fuzzRows(300, chance)).toBe(300);
  },
  msMax,
);

test(
  "hostile settings, transcripts and databases",
  () => {
    const settings = fuzzSettings(20, chance);
    expect(settings.refused + settings.joined).toBe(20);
    expect(fuzzTranscripts(40, chance)).toBeGreaterThan(40);
    const databases = fuzzDatabases(15, chance);
    expect(Object.values(databases).reduce((sum, n) => sum + n, 0)).toBe(15);
  },
  msMax,
);
