// What commands look like on a terminal: every line fits its width, nothing is broken within a word, colour is only for who wants it.
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Result } from "../../src/protocol/schemas.ts";
import { rennCommand } from "../binary.ts";
import { cliWorld, type World } from "./world.ts";

const long = "a-handle-that-is-nearly-as-long-as-a-handle-may";
const body = `Shall we ship it today? 漢字かな漢字かな漢字かな, and ${"many more words ".repeat(12)}\n\n    indented code stays as it is\nlast line`;

let world: World;
let ask: Result<"send">;
beforeAll(async () => {
  world = cliWorld();
  await world.json(["broker", "start"]);
  for (const handle of ["api", long]) await world.json(["whoami", "--as", handle]);
  ask = await world.json(["send", "api", long, "-m", body]);
  await world.json(["reply", String(ask.messageId), "No, and here is at length why not.", "--disagree", "--as", long]);
  await world.json(["group", "create", "team", "api", long]);
}, 30_000);
afterAll(() => world.end());

/** Runs a command in a terminal of its own and gives what it shows, line by line. */
async function shown(columns: number, args: string[], env: Record<string, string> = {}): Promise<string[]> {
  let text = "";
  const decoder = new TextDecoder();
  const closed = Promise.withResolvers<void>();
  const child = Bun.spawn([...rennCommand(), ...args], {
    cwd: world.home.home,
    env: { ...world.env, TERM: "xterm-256color", ...env },
    terminal: {
      cols: columns,
      rows: 50,
      data: (_terminal, bytes) => {
        text += decoder.decode(bytes, { stream: true });
      },
      exit: () => closed.resolve(),
    },
  });
  await child.exited;
  child.terminal?.close();
  await closed.promise;
  return text.split(/[\r\n]+/);
}

const id = () => String(ask.threadId);
const commands: [string, () => string[]][] = [
  ["help", () => ["--help"]],
  ["help of send", () => ["send", "--help"]],
  ["status", () => ["status"]],
  ["inbox", () => ["inbox"]],
  ["read", () => ["read", String(ask.messageId)]],
  ["threads", () => ["thread"]],
  ["thread", () => ["thread", id()]],
  ["collect", () => ["collect", id()]],
  ["wait", () => ["wait", id(), "--timeout", "0"]],
  ["why", () => ["why", String(ask.messageId)]],
  ["search", () => ["search", "ship"]],
  ["group", () => ["group"]],
  ["broker status", () => ["broker", "status"]],
  ["an error", () => ["send", "nobody-of-this-name-is-anywhere", "hello"]],
];

test.each(commands)(
  "%s fits terminals of 60 and 80 columns",
  async (_name, args) => {
    const screens = await Promise.all([60, 80].map(async (columns) => ({ columns, lines: await shown(columns, args()) })));
    for (const { columns, lines } of screens) {
      expect(lines.join("").trim()).not.toBe("");
      expect(lines.filter((line) => Bun.stringWidth(line) > columns)).toEqual([]);
    }
  },
  30_000,
);

test("words stay whole, and code as it was written", async () => {
  const lines = await shown(60, ["read", String(ask.messageId)], { NO_COLOR: "1" });
  const at = lines.findIndex((line) => line.startsWith("Shall we"));
  const end = lines.indexOf("last line");
  expect(
    lines
      .slice(at, end + 1)
      .join(" ")
      .replace(/\s+/g, " "),
  ).toBe(body.replace(/\s+/g, " "));
  expect(lines).toContain("    indented code stays as it is");
}, 20_000);

test("who asked an absent peer sees in status that it has not answered", async () => {
  const lines = await shown(120, ["status"], { NO_COLOR: "1" });
  expect(lines.find((line) => line.startsWith("api "))).toMatch(/ 1 unanswered /);
  expect(lines.find((line) => line.startsWith(long))).not.toContain("unanswered");
}, 20_000);

test("in 80 columns status tells below a peer what has no room beside it: when it was seen, who it is", async () => {
  const lines = await shown(80, ["status"], { NO_COLOR: "1" });
  const at = lines.findIndex((line) => line.startsWith("renn (you)"));
  expect(lines[at + 1]).toBe("  now · the owner");
}, 20_000);

test("colour and hints are for terminals, and NO_COLOR turns colour off", async () => {
  const esc = "\u001b[";
  const coloured = (await shown(80, ["thread"])).join("\n");
  expect([coloured.includes(esc), coloured.includes("Next: renn thread")]).toEqual([true, true]);
  const plain = (await shown(80, ["thread"], { NO_COLOR: "1" })).join("\n");
  expect([plain.includes(esc), plain.includes("Next: renn thread")]).toEqual([false, true]);
  const piped = (await world.renn(["thread"])).stdout;
  expect([piped.includes(esc), piped.includes("Next:"), piped.includes("…")]).toEqual([false, false, false]);
}, 20_000);
