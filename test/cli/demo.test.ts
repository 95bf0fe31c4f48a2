// The newcomer's proof must itself be proven: it runs to its end, fits a terminal, and leaves nothing behind.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import type { Result } from "../../src/protocol/schemas.ts";
import { rennCommand } from "../binary.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(`${tmpdir()}/renn-demo-test-`);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("the demo ends well within ten seconds, in 80 columns, and removes its home", async () => {
  const begun = Date.now();
  const child = Bun.spawn([...rennCommand(), "demo"], { env: { ...process.env, TMPDIR: folder }, stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr, status] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  expect([status, stderr]).toEqual([0, ""]);
  expect(Date.now() - begun).toBeLessThan(10_000);
  for (const said of [
    "[murmur m1 thread 1 #1 from renn",
    "agree",
    "disagree",
    "gets what was queued",
    "all have replied",
    "The changelog is written",
  ])
    expect(stdout).toContain(said);
  for (const line of stdout.split("\n")) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(80);
  expect(readdirSync(folder)).toEqual([]);
}, 15_000);

const start = (args: string[] = []) =>
  Bun.spawn([...rennCommand(), "demo", ...args], { env: { ...process.env, TMPDIR: folder }, stdout: "pipe", stderr: "pipe" });

/** Reads until the broker of the demo serves. */
async function begun(child: ReturnType<typeof start>) {
  const reader = child.stdout.getReader();
  for (let text = ""; !text.includes("Three sessions join"); ) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`the demo ended with: ${text}`);
    text += new TextDecoder().decode(value);
  }
  return reader;
}

/** Processes that were started for a home in the folder of this test. */
function brokersLeft(): string[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, "utf8").includes(`RENN_HOME=${folder}/`);
    } catch {
      return false;
    }
  });
}

test.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const)(
  "%s in the middle leaves no home and no broker behind",
  async (signal, status) => {
    const child = start();
    const reader = await begun(child);
    expect(brokersLeft().length > 0 || process.platform !== "linux").toBe(true);
    child.kill(signal);
    while (!(await reader.read()).done);
    expect([await child.exited, await child.stderr.text()]).toEqual([status, ""]);
    expect([readdirSync(folder), brokersLeft()]).toEqual([[], []]);
  },
  15_000,
);

test("a reader that leaves early ends it quietly, with nothing left behind", async () => {
  const child = start();
  await (await begun(child)).cancel();
  expect([await child.exited, await child.stderr.text()]).toEqual([0, ""]);
  expect([readdirSync(folder), brokersLeft()]).toEqual([[], []]);
}, 15_000);

test("with --json it prints one document: who answered what", async () => {
  const child = start(["--json"]);
  const [stdout, status] = await Promise.all([child.stdout.text(), child.exited]);
  const shown = JSON.parse(stdout) as { ok: boolean; matrix: Result<"wait">["matrix"] };
  expect([status, shown.ok]).toEqual([0, true]);
  expect(shown.matrix.map((row) => [row.handle, row.verdict])).toEqual([
    ["claude-web", "agree"],
    ["codex-api", "disagree"],
    ["gemini-docs", "info"],
  ]);
}, 15_000);
