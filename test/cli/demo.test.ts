// The newcomer's proof must itself be proven: it runs to its end, fits a terminal, and leaves nothing behind.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
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
