// Commands that go on until they are ended: watch with desktop notifications, thread --follow, broker logs -f.
import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { appendFileSync, chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import type { Result } from "../../src/protocol/schemas.ts";
import { rennCommand } from "../binary.ts";
import { cliWorld, type World } from "./world.ts";

let world: World;
const running: Bun.Subprocess[] = [];
beforeAll(async () => {
  world = cliWorld();
  await world.json(["broker", "start"]);
  await world.json(["whoami", "--as", "api"]);
}, 20_000);
afterEach(() => {
  for (const child of running.splice(0)) child.kill();
});
afterAll(() => world.end());

/** Looks again until something is there, ten seconds at most. */
async function until(look: () => boolean): Promise<void> {
  for (const deadline = Date.now() + 10_000; !look() && Date.now() < deadline; ) await Bun.sleep(10);
  expect(look()).toBe(true);
}

/** Starts a command that does not end by itself; what it has printed so far grows in `text`. */
function following(args: string[], env: Record<string, string> = {}): { text: string } {
  const child = Bun.spawn([...rennCommand(), ...args], { env: { ...world.env, ...env }, stdout: "pipe", stderr: "ignore" });
  running.push(child);
  const seen = { text: "" };
  void (async () => {
    for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) seen.text += part;
  })();
  return seen;
}

test("thread --follow prints what is there, and then what comes", async () => {
  const sent = await world.json<Result<"send">>(["send", "api", "first word"]);
  const seen = following(["thread", String(sent.threadId), "--follow", "--full"]);
  await until(() => seen.text.includes("first word\n"));
  await world.json(["reply", String(sent.messageId), "second word", "--as", "api", "--agree"]);
  await until(() => seen.text.includes("second word\n"));
  expect(seen.text).toContain(`re m${sent.messageId} · agree`);
  expect(seen.text.split("first word")).toHaveLength(2);
}, 30_000);

test("watch --notify hands a message for the owner to the desktop, and no option of it", async () => {
  if (process.platform !== "linux") return;
  const bin = `${world.home.home}/bin-of-test`;
  const record = `${world.home.home}/notified`;
  mkdirSync(bin);
  writeFileSync(`${bin}/notify-send`, `#!/bin/sh\nprintf '%s\\n' "$@" > '${record}.new' && mv '${record}.new' '${record}'\n`);
  chmodSync(`${bin}/notify-send`, 0o755);
  const seen = following(["watch", "--notify"], { PATH: `${bin}:${world.env.PATH}` });
  // The watch begins some time after its process: who becomes present shows that it does.
  for (let n = 0; !seen.text && n < 100; n++) await world.json(["whoami", "--as", `passer-by-${n}`]);
  await world.json(["send", "passer-by-0", "not for the owner", "--as", "api"]);
  await world.json(["send", "renn", "--message=--icon=evil and more", "--as", "api"]);
  await until(() => existsSync(record));
  expect(readFileSync(record, "utf8")).toBe("--app-name=renn\n--\nrenn: api\n--icon=evil and more\n");
  await until(() => seen.text.includes("→ renn: --icon=evil and more\n"));
}, 60_000);

test("broker logs -f goes on with what comes, also after the log was rotated", async () => {
  // A home without a broker, which would write lines of its own.
  const home = `${world.home.home}/home-of-a-log`;
  const log = `${home}/broker.log`;
  mkdirSync(home, { mode: 0o700 });
  writeFileSync(log, "old line\nlast line\n");
  const seen = following(["broker", "logs", "-f", "-n", "1"], { RENN_HOME: home });
  await until(() => seen.text === "last line\n");
  appendFileSync(log, "new \u001b[31mline\n");
  await until(() => seen.text.endsWith("new \\u001b[31mline\n"));
  renameSync(log, `${log}.1`);
  writeFileSync(log, "fresh\n");
  await until(() => seen.text.endsWith("fresh\n"));
}, 30_000);
