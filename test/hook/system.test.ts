// Hooks and what the system does to them: inputs that come late or never, outputs that nobody reads, homes that are not as they should be.
import { afterEach, expect, test } from "bun:test";
import { closeSync, constants, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { type HomePaths, homePaths } from "../../src/home.ts";
import { rennCommand } from "../binary.ts";
import { emptyHome, fakeBroker, type Line } from "../fake-broker.ts";
import { hookWorld, payloads, runHook } from "./world.ts";

const prompt = payloads.claude("UserPromptSubmit", { prompt: "hi" });
const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

function world(texts: string[] = []) {
  const made = hookWorld({ texts });
  ends.push(made.end);
  return made;
}

function home(): HomePaths {
  const made = emptyHome();
  ends.push(made.remove);
  return made;
}

const logOf = (paths: HomePaths) => readFileSync(paths.hookLog, "utf8").replace(/^\S+ /, "").trimEnd();

/** A named pipe with both ends open, so that whoever reads or writes it waits for nobody. */
function pipe(paths: HomePaths): number {
  const path = `${paths.home}/pipe`;
  expect(Bun.spawnSync(["mkfifo", path]).exitCode).toBe(0);
  const fd = openSync(path, constants.O_RDWR);
  ends.push(() => closeSync(fd));
  return fd;
}

const env = (paths: HomePaths) => ({ PATH: process.env.PATH ?? "", RENN_HOME: paths.home });

test("an input that does not end is given up in time", async () => {
  const w = world(["never shown"]);
  const child = Bun.spawn([...rennCommand(), "hook", "claude", "Stop"], { env: env(w.home), stdin: pipe(w.home), stdout: "pipe" });
  expect([await child.exited, await child.stdout.text()]).toEqual([0, ""]);
  expect(w.log()).toMatch(/^\S+ claude Stop: no answer within 300 ms\n$/);
  expect(w.lines).toEqual([]);
});

test("an output that nobody reads holds up nobody", async () => {
  const w = world(["long ".repeat(50_000)]);
  const child = Bun.spawn([...rennCommand(), "hook", "claude"], {
    env: env(w.home),
    stdin: Buffer.from(JSON.stringify(prompt)),
    stdout: pipe(w.home),
  });
  expect(await child.exited).toBe(0);
  expect(w.log()).toMatch(/^\S+ claude UserPromptSubmit: (what the hook says is not read|no answer within 300 ms)\n$/);
});

test("an input and an answer of many pieces come whole", async () => {
  const text = `[murmur m1 x]\n${"é".repeat(20_000)}`;
  const w = world([text]);
  const run = await w.run(["claude"], { ...prompt, tool_response: "ü".repeat(100_000) });
  expect(JSON.parse(run.out).hookSpecificOutput.additionalContext).toBe(text);
  expect(w.lines.length).toBe(2);
});

test("a home whose path is too long for a socket is reached where the socket lies", async () => {
  const base = mkdtempSync(`${tmpdir()}/renn-far-`);
  ends.push(() => rmSync(base, { recursive: true, force: true }));
  const paths = homePaths({ RENN_HOME: `${base}/${"long".repeat(30)}` });
  const near = home();
  mkdirSync(paths.home, { mode: 0o700 });
  writeFileSync(paths.token, "secret", { mode: 0o600 });
  symlinkSync(near.socket, paths.socket);
  const lines: Line[] = [];
  const broker = fakeBroker(near, (line, reply) => {
    lines.push(line);
    reply({ id: line.id, ok: true, result: line.type === "hook" ? { texts: ["hello"] } : { handle: "x" } });
  });
  ends.push(broker.stop);
  const run = await runHook(paths.home, ["claude"], prompt);
  expect(JSON.parse(run.out).hookSpecificOutput.additionalContext).toBe("hello");
  expect(lines.map((line) => line.type)).toEqual(["session", "hook"]);
});

test("what is no socket of ours is named in hook.log", async () => {
  const file = home();
  writeFileSync(file.socket, "");
  expect(await runHook(file.home, ["claude"], prompt)).toMatchObject({ out: "", err: "", status: 0 });
  expect(logOf(file)).toBe(`claude UserPromptSubmit: ${file.socket} is no socket of this user`);
});

test("a token that is a pipe does not hold the hook", async () => {
  const w = world(["hello"]);
  rmSync(w.home.token);
  expect(Bun.spawnSync(["mkfifo", w.home.token]).exitCode).toBe(0);
  await w.run(["claude"], prompt);
  expect(w.lines.map((line) => line.type)).toEqual(["session", "hook"]);
});
