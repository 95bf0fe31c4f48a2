// SECURITY.md names a test behind each sentence; this one sees to it that they are there.
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "../..");

test("every test that SECURITY.md names exists, and every row names one", () => {
  const text = readFileSync(join(root, "SECURITY.md"), "utf8");
  const named = [...text.matchAll(/`(test\/[^`]+)` › "([^"]+)"/g)];
  const missing = named.filter(
    ([, file = "", name = ""]) => !existsSync(join(root, file)) || !readFileSync(join(root, file), "utf8").includes(name),
  );
  expect(missing.map(([whole]) => whole)).toEqual([]);
  const rows = text.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| What holds"));
  expect(rows.filter((row) => !row.includes("› "))).toEqual([]);
  expect(rows.length).toBeGreaterThan(20);
});
