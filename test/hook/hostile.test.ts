// Hooks and what another process can put in their way: inputs that are slow to parse, and files that are none.
import { afterEach, expect, test } from "bun:test";
import { mkdirSync, rmSync } from "node:fs";
import { parseObject } from "../../src/clis/payload.ts";
import { hookWorld, payloads } from "./world.ts";

const worlds: { end(): void }[] = [];
afterEach(() => {
  for (const world of worlds.splice(0)) world.end();
});

function world() {
  const made = hookWorld();
  worlds.push(made);
  return made;
}

function makeFifo(path: string): void {
  rmSync(path, { force: true });
  expect(Bun.spawnSync(["mkfifo", path]).exitCode).toBe(0);
}

const slow: [string, string][] = [
  ["brackets", "[".repeat(5_000_000)],
  ["objects in objects", '{"a":'.repeat(1_000_000)],
  ["lists in a list", `{"a":[${"[],".repeat(1_500_000)}1]}`],
  ["very many keys", `{${Array.from({ length: 400_000 }, (_, i) => `"k${i}":1`).join(",")}}`],
];
for (const [what, input] of slow)
  test(`5 MB of ${what} are not parsed`, async () => {
    const w = world();
    expect(await w.run(["claude"], input)).toMatchObject({ out: "", err: "", status: 0 });
    expect(w.log()).toMatch(/^\S+ claude -: the input is no JSON object, or one of too many values\n$/);
    expect(w.lines).toEqual([]);
  });

test("what a long text holds is not counted as values", () => {
  const text = '[{,"\\'.repeat(100_000);
  expect(parseObject(JSON.stringify({ text, more: [1] }))).toEqual({ text, more: [1] });
});

test("a FIFO for Codex's names of threads does not hold the hook", async () => {
  const w = world();
  const codexHome = `${w.home.home}/codex`;
  mkdirSync(codexHome);
  makeFifo(`${codexHome}/session_index.jsonl`);
  const payload = payloads.codex("UserPromptSubmit", { transcript_path: `${codexHome}/sessions/2026/12/01/rollout-x.jsonl` });
  expect(await w.run(["codex"], payload)).toMatchObject({ out: "", err: "", status: 0 });
  expect(w.lines.map((line) => line.type)).toEqual(["session", "hook"]);
  expect(w.log()).toBe("");
});
