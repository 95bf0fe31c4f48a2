// The built program reads nothing from the folder it is started in: a hook runs in strangers' repositories.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compile } from "../build.ts";

const folder = mkdtempSync(join(tmpdir(), "renn-build-"));
const program = join(folder, "program");
const repository = join(folder, "repository");
const planted = join(repository, "planted");

beforeAll(async () => {
  // Says all that the files of a hostile folder could change: the environment, what an import means, and whether strange code ran before.
  const entry = join(folder, "entry.ts");
  writeFileSync(
    entry,
    `const lazy = await import("./lazy.ts");
     const strange = await import(process.env.STRANGE ?? "strange").then(() => "loaded", () => "not found");
     console.log(JSON.stringify({ home: process.env.RENN_HOME ?? null, lazy: lazy.word, strange, version: RENN_VERSION, define: process.env.NODE_ENV ?? null }));
     declare const RENN_VERSION: string;`,
  );
  writeFileSync(join(folder, "lazy.ts"), `export const word = "own";`);
  await compile(entry, program);

  mkdirSync(join(repository, "node_modules/lazy"), { recursive: true });
  const plant = `require("node:fs").writeFileSync(${JSON.stringify(planted)}, "ran");`;
  for (const name of [".env", ".env.local", ".env.production", ".env.development"]) {
    writeFileSync(join(repository, name), "RENN_HOME=/evil\nNODE_ENV=evil\nSTRANGE=./preload.js\n");
  }
  writeFileSync(join(repository, "preload.js"), plant);
  writeFileSync(join(repository, "lazy.ts"), plant);
  writeFileSync(join(repository, "bunfig.toml"), `preload = ["./preload.js"]\n[run]\npreload = ["./preload.js"]\n`);
  writeFileSync(join(repository, "package.json"), JSON.stringify({ imports: { strange: "./preload.js" }, type: "commonjs" }));
  writeFileSync(
    join(repository, "tsconfig.json"),
    JSON.stringify({ compilerOptions: { baseUrl: ".", paths: { strange: ["./preload.js"], "./lazy.ts": ["./lazy.ts"] } } }),
  );
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function start(cwd: string): unknown {
  const { RENN_HOME: _home, NODE_ENV: _mode, ...env } = process.env;
  const { stdout, exitCode } = Bun.spawnSync([program], { cwd, env, stderr: "inherit" });
  return { exitCode, said: JSON.parse(stdout.toString()) };
}

test("a hostile current folder changes nothing", () => {
  const elsewhere = start("/");
  expect(elsewhere).toMatchObject({
    exitCode: 0,
    said: { home: null, lazy: "own", strange: "not found", version: expect.stringMatching(/^\d/) },
  });
  expect(start(repository)).toEqual(elsewhere);
  expect(existsSync(planted)).toBe(false);
});

test("the program stands alone, with no unfinished file beside it", () => {
  expect(readdirSync(folder).sort()).toEqual(["entry.ts", "lazy.ts", "program", "repository"]);
});
