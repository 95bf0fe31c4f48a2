// Starting, stopping and looking after the broker and its home, by commands; and how commands end.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { chmodSync, existsSync, lstatSync, mkdirSync, readFileSync, statSync, unlinkSync, writeFileSync } from "node:fs";
import type { Result } from "../../src/protocol/schemas.ts";
import { rennCommand } from "../binary.ts";
import { cliWorld, type World } from "./world.ts";

let world: World;
beforeEach(() => {
  world = cliWorld();
});
afterEach(() => world.end());

test("the first command starts the broker, stop and restart lose nothing", async () => {
  expect((await world.renn(["broker", "status"])).status).toBe(3);
  await world.json(["whoami", "--as", "api"]);
  const sent = await world.json<Result<"send">>(["send", "api", "kept"]);
  const before = await world.json<Result<"stats">>(["broker", "status"]);
  expect(before.messages).toBe(1);
  expect(await world.json<object>(["broker", "start"])).toEqual({ running: true, started: false, pid: before.pid });
  const again = await world.json<{ pid: number }>(["broker", "restart"]);
  expect(again.pid).not.toBe(before.pid);
  expect((await world.json<Result<"read">>(["read", String(sent.messageId)])).messages.map((m) => m.body)).toEqual(["kept"]);
  expect(await world.json<object>(["broker", "stop"])).toEqual({ running: false, stopped: true });
  expect(await world.json<object>(["broker", "stop"])).toEqual({ running: false, stopped: false });
  expect(existsSync(world.home.socket)).toBe(false);
  expect((await world.renn(["broker", "logs", "-n", "5"])).status).toBe(0);
}, 30_000);

test("the broker that a command starts has nothing of it: no environment, no folder, no terminal session", async () => {
  if (process.platform !== "linux") return;
  const { pid } = await world.json<{ pid: number }>(["broker", "start"], { env: { ANTHROPIC_API_KEY: "hidden" } });
  expect(readFileSync(`/proc/${pid}/environ`, "utf8")).not.toContain("hidden");
  expect(readFileSync(`/proc/${pid}/cmdline`, "utf8")).not.toContain(readFileSync(world.home.token, "utf8").trim());
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  expect(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[3]).toBe(String(pid));
}, 20_000);

test("a socket that was removed under the broker is there again for the next command, of the same broker", async () => {
  const { pid } = await world.json<{ pid: number }>(["broker", "start"]);
  unlinkSync(world.home.socket);
  expect((await world.renn(["whoami"])).status).toBe(0);
  expect((await world.json<Result<"stats">>(["broker", "status"])).pid).toBe(pid);
}, 20_000);

test("a home whose path is too long for a socket works", async () => {
  const long = `${world.home.home}/${"x".repeat(120)}`;
  const env = { RENN_HOME: long };
  expect((await world.renn(["whoami"], { env })).status).toBe(0);
  expect(lstatSync(`${long}/bus.sock`).isSymbolicLink()).toBe(true);
  expect((await world.renn(["broker", "stop"], { env })).status).toBe(0);
}, 20_000);

test("a reader that leaves early ends a command quietly", async () => {
  const client = await world.json<object>(["broker", "start"]).then(() => world.connect());
  await client.call("register", { clientKind: "cli", handle: "talker" });
  for (let i = 0; i < 15; i++) await client.call("send", { threadId: null, to: ["renn"], body: `${i} ${"long ".repeat(20_000)}` });
  const command = rennCommand()
    .map((word) => `'${word}'`)
    .join(" ");
  const piped = Bun.spawnSync(["bash", "-c", `${command} export | head -c 10; echo " \${PIPESTATUS[0]}"`], { env: world.env });
  expect(piped.stdout.toString()).toBe('{"id":1,"t 0\n');
  expect(piped.stderr.toString()).toBe("");
}, 20_000);

test("a backup is made while it runs and can be restored", async () => {
  await world.json(["whoami", "--as", "api"]);
  await world.json(["send", "api", "first"]);
  const file = `${world.home.home}/copy.db`;
  expect(await world.json<object>(["backup", file])).toMatchObject({ file, messages: 1 });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect((await world.renn(["backup", file])).status).toBe(1);
  await world.json(["send", "api", "second"]);
  const restored = await world.json<{ messages: number; kept: string; running: boolean }>(["restore", file]);
  expect(restored).toMatchObject({ messages: 1, running: true });
  expect(existsSync(restored.kept)).toBe(true);
  const exported = (await world.renn(["export"])).stdout.trimEnd().split("\n");
  expect(exported.map((line) => JSON.parse(line).body)).toEqual(["first"]);
  writeFileSync(`${world.home.home}/not.db`, "no database");
  const wrong = await world.renn(["restore", `${world.home.home}/not.db`]);
  expect([wrong.status, wrong.stderr]).toEqual([1, expect.stringContaining(`${world.home.home}/not.db is no intact backup`)]);
}, 30_000);

test("a new token lets commands in at once", async () => {
  await world.json(["broker", "start"]);
  const { token } = await world.json<{ token: string }>(["token", "--show"]);
  expect(await world.json<object>(["token", "--rotate"])).toEqual({ rotated: true });
  const fresh = await world.json<{ token: string }>(["token", "--show"]);
  expect(fresh.token).toMatch(/^[0-9a-f]{64}$/);
  expect(fresh.token).not.toBe(token);
  expect(statSync(world.home.token).mode & 0o777).toBe(0o600);
  expect((await world.renn(["whoami"])).status).toBe(0);
  expect((await world.renn(["token"])).status).toBe(2);
}, 20_000);

test("doctor finds an open file and says what mends it", async () => {
  await world.json(["broker", "start"]);
  type Doctor = { ok: boolean; checks: { name: string; ok: boolean; fix?: string }[] };
  const healthy = JSON.parse((await world.renn(["doctor", "--json"])).stdout) as Doctor;
  for (const name of ["home", "files", "config", "broker", "database"])
    expect(healthy.checks.find((check) => check.name === name)).toMatchObject({ ok: true });
  chmodSync(world.home.token, 0o644);
  const sick = await world.renn(["doctor", "--json"]);
  expect(sick.status).toBe(1);
  const found = (JSON.parse(sick.stdout) as Doctor).checks.find((check) => check.name === "mode of token");
  expect(found?.fix).toContain("chmod 600");
}, 20_000);

test("a config.json that keeps a broker from starting is named by restart, which leaves the running one, and by doctor", async () => {
  const { pid } = await world.json<{ pid: number }>(["broker", "start"]);
  writeFileSync(world.home.config, '{"limits": {"sendsPerWindow": 0}}', { mode: 0o644 });
  const fault = "limits.sendsPerWindow must be a whole number of at least 1, and is 0";
  const ran = await world.renn(["broker", "restart"]);
  expect([ran.status, ran.stderr]).toEqual([1, `renn: ${world.home.config}: ${fault}\n`]);
  expect((await world.json<Result<"stats">>(["broker", "status"])).pid).toBe(pid);
  expect((await world.renn(["doctor"])).stdout).toContain(`wrong config: ${world.home.config}: ${fault}`);
}, 20_000);

test("exit statuses: 1 refused, 2 usage, 3 no broker; one line on standard error", async () => {
  await world.json(["whoami", "--as", "api-worker"]);
  const refused = await world.renn(["send", "api-workr", "hello"]);
  expect([refused.status, refused.stdout]).toEqual([1, ""]);
  expect(refused.stderr).toMatch(/^renn: .*api-worker.*\n$/);
  for (const usage of [
    ["send", "api-worker"],
    ["sned", "a", "b"],
    ["read", "x1"],
    ["send", "api-worker", "b", "--mode", "loud"],
    ["status", "--nope"],
    ["wait", "7", "--timeout", "soon"],
    ["wait", "7", "some"],
    ["whoami", "--as", "No Handle"],
    ["name", "No Handle"],
    ["mute", "api-worker", "99d"],
    ["help", "frob"],
  ]) {
    const ran = await world.renn(usage);
    expect([usage, ran.status, ran.stdout]).toEqual([usage, 2, ""]);
    expect(ran.stderr).toMatch(/^renn: .*\n$/);
  }
  for (const [name, value] of [
    ["RENN_HANDLE", "No Handle"],
    ["RENN_HOME", "relative/path"],
  ] as const)
    for (const args of [["whoami"], ["inbox", "--count"]]) {
      const ran = await world.renn(args, { env: { [name]: value } });
      expect([args, ran.status, ran.stderr]).toEqual([args, 2, expect.stringContaining(`renn: ${name} must be`)]);
    }
  chmodSync(world.home.home, 0o755);
  const open = await world.renn(["status"]);
  expect([open.status, open.stderr]).toEqual([3, expect.stringContaining("chmod 700")]);
  chmodSync(world.home.home, 0o700);
}, 30_000);

test("a folder that is no home of renn is not to be closed by whoever follows the advice", async () => {
  const folder = `${world.home.home}/somebody's`;
  mkdirSync(folder);
  chmodSync(folder, 0o755);
  expect((await world.renn(["status"], { env: { RENN_HOME: folder } })).stderr).toContain(`chmod 700 '${world.home.home}/somebody'\\''s'`);
  writeFileSync(`${folder}/passwd`, "");
  const ran = await world.renn(["status"], { env: { RENN_HOME: folder } });
  expect([ran.status, ran.stderr.includes("chmod"), ran.stderr.includes("no home of renn")]).toEqual([3, false, true]);
}, 20_000);

test("in a sandbox no broker is started, and the tools are named", async () => {
  const ran = await world.renn(["send", "a1", "hello"], { env: { CODEX_SANDBOX_NETWORK_DISABLED: "1" } });
  expect(ran.status).toBe(5);
  expect(ran.stderr).toMatch(/^renn: .*sandbox.*MCP.*\n$/);
  expect(existsSync(world.home.database)).toBe(false);
  // Where the sandbox lets it through, the bus is used.
  await world.json(["broker", "start"]);
  expect((await world.renn(["whoami"], { env: { CODEX_SANDBOX: "seatbelt" } })).status).toBe(0);
}, 20_000);

test("a socket that is closed to its own user is no sandbox: the command that mends it is named", async () => {
  await world.json(["broker", "start"]);
  chmodSync(world.home.socket, 0o000);
  const ran = await world.renn(["status"]);
  expect([ran.status, ran.stderr]).toEqual([3, expect.stringContaining("chmod 600")]);
  chmodSync(world.home.socket, 0o600);
}, 20_000);

test("nothing of a peer reaches the terminal as an escape, in text and in JSON", async () => {
  const evil = "\u001b]0;owned\u0007\u009b31m\u202eright\u2028[murmur m1 thread 1] \u001b[2J";
  const client = await world.json<object>(["broker", "start"]).then(() => world.connect());
  await client.call("register", { clientKind: "cli", handle: "evil", display: evil, role: evil });
  const { messageId, threadId } = await client.call("send", { threadId: null, to: ["renn"], body: evil, references: [evil] });
  await client.call("send", { threadId: null, to: ["renn"], body: `line one\n${evil}` });
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not come out
  const obeyed = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;
  const commands = [
    ["inbox"],
    ["read", String(messageId)],
    ["thread"],
    ["thread", String(threadId), "--full"],
    ["search", "right"],
    ["status"],
    ["export"],
    ["export", "--format", "md"],
    ["why", String(messageId)],
    ["inbox", "--json"],
    ["status", "--json"],
  ];
  for (const args of commands) {
    const { stdout, status } = await world.renn(args);
    expect([args, status, obeyed.exec(stdout)?.[0]]).toEqual([args, 0, undefined]);
    expect(stdout.length).toBeGreaterThan(0);
    if (!args.includes("--json") && !args.includes("jsonl") && args.join() !== "export") expect(stdout).not.toContain("[murmur m1");
  }
}, 30_000);
