// The house rules that no linter holds: what every file must have, what a test may not do, and what hook mode may load.
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { clientNames } from "../src/protocol/constants.ts";

const root = join(import.meta.dir, "..");
const files = [...new Bun.Glob("{src,test}/**/*.ts").scanSync(root), "build.ts"].sort();
const sources = files.filter((file) => file.startsWith("src/") && !file.endsWith(".d.ts"));
const read = (file: string): string => readFileSync(join(root, file), "utf8");

/** Files that break a rule, so that a failure names them all at once. */
const breaking = (list: string[], rule: (text: string) => boolean): string[] => list.filter((file) => !rule(read(file)));

/** What a file imports; types are not loaded, and a shebang is no TypeScript to the scanner. */
const scan = (file: string): Bun.Import[] => new Bun.Transpiler({ loader: "ts" }).scanImports(read(file).replace(/^#!.*/, ""));

/** Everything that loads when `entry` starts: its imports and theirs, without the lazy ones. */
function loadedAtStart(entry: string): Set<string> {
  const seen = new Set<string>();
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    if (!file.endsWith(".ts")) return;
    for (const { kind, path } of scan(file)) {
      if (kind === "import-statement") visit(path.startsWith(".") ? relative(root, join(root, dirname(file), path)) : path);
    }
  };
  visit(entry);
  return seen;
}

/**
 * Exported functions and classes with no docstring above them. What a file with a single export is for stands in its first line, and so
 * does what commands a `register…` adds.
 */
function undocumented(file: string): string[] {
  const lines = read(file).split("\n");
  if (lines.filter((line) => line.startsWith("export ")).length === 1) return [];
  return lines.flatMap((line, at) => {
    const name = /^export (?:async )?(?:function\*?|class) (\w+)/.exec(line)?.[1];
    return name && !name.startsWith("register") && !lines[at - 1]?.trimEnd().endsWith("*/") ? [`${file}: ${name}`] : [];
  });
}

describe("every file", () => {
  test("opens with a comment that says what it is for", () => {
    expect(breaking(files, (text) => /^(#!.*\n)?(\/\/|\/\*)/.test(text))).toEqual([]);
  });

  test("documents the functions and classes it exports", () => {
    expect(sources.flatMap(undocumented)).toEqual([]);
  });
});

describe("tests", () => {
  test("wait for a condition and never for a time: who sleeps looks again until a deadline", () => {
    const tests = files.filter((file) => file.endsWith(".test.ts") && file !== "test/house.test.ts");
    const sleeps = (line: string): boolean => /Bun\.sleep(Sync)?\(|setTimeout\((resolve|done|r),/.test(line) && !line.includes("deadline");
    expect(breaking(tests, (text) => !text.split("\n").some(sleeps))).toEqual([]);
  });
});

describe("rooms", () => {
  test("a CLI of the protocol has its file and its line in the index", () => {
    const index = read("src/clis/index.ts");
    expect(clientNames.filter((name) => !index.includes(`"./${name}.ts"`) || !sources.includes(`src/clis/${name}.ts`))).toEqual([]);
  });

  test("CLIs do not import each other", () => {
    const names = new Set(clientNames.map((name) => `./${name}.ts`));
    const clis = clientNames.map((name) => `src/clis/${name}.ts`);
    expect(clis.filter((file) => scan(file).some(({ path }) => names.has(path)))).toEqual([]);
  });
});

describe("what a start loads", () => {
  test("the entry loads no mode but the hook", () => {
    const hook = loadedAtStart("src/modes/hook.ts");
    expect([...loadedAtStart("src/main.ts")].filter((path) => !hook.has(path))).toEqual(["src/main.ts"]);
  });

  test("hook mode loads no package, no module of Node or Bun and no SQLite", () => {
    const loaded = [...loadedAtStart("src/modes/hook.ts")];
    expect(loaded.filter((path) => !path.startsWith("src/") && path !== "package.json")).toEqual([]);
  });
});
