// The broker as a process: one a home, its files, its end, its configuration (semantics §1, §12).
import { afterEach, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { type HomePaths, homePaths } from "../../src/home.ts";
import { readConfig } from "../../src/modes/serve/config.ts";
import { defaultLimits } from "../../src/protocol/constants.ts";
import { rennCommand } from "../binary.ts";
import { RawClient } from "../world/socket.ts";
import { until } from "../world/until.ts";

type Running = ReturnType<typeof run>;
const folders: string[] = [];
const running: Running[] = [];

function newHome(): HomePaths {
  const home = mkdtempSync(`${tmpdir()}/renn ñ 家-`);
  folders.push(home);
  return homePaths({ RENN_HOME: home });
}

function run(paths: HomePaths, cwd = paths.home) {
  const env = { RENN_HOME: paths.home, HOME: paths.home, PATH: process.env.PATH ?? "", LANG: "C.UTF-8" };
  const child = Bun.spawn([...rennCommand(), "broker", "run"], { env, cwd, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const output = Promise.all([child.stdout.text(), child.stderr.text()]);
  return { child, output };
}

/** A broker that serves; `until` is polled with a deadline. */
async function serving(paths: HomePaths): Promise<Running> {
  const broker = run(paths);
  running.push(broker);
  await until(() => answers(paths), "the broker");
  return broker;
}

/** Whether somebody listens: the socket is there a moment before it takes connections. */
async function answers(paths: HomePaths): Promise<boolean> {
  try {
    (await RawClient.connect(paths.socket)).close();
    return true;
  } catch {
    return false;
  }
}

async function client(paths: HomePaths, handle: string): Promise<RawClient> {
  const c = await RawClient.connect(paths.socket);
  c.request(1, "auth", { token: readFileSync(paths.token, "utf8").trim() });
  c.request(2, "register", { handle, clientKind: "mcp" });
  await c.take(2);
  return c;
}

afterEach(async () => {
  for (const { child } of running.splice(0)) {
    child.kill("SIGKILL");
    await child.exited;
  }
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

test("its files are the user's alone, made so", async () => {
  const paths = newHome();
  rmSync(paths.home, { recursive: true });
  folders.push(paths.home);
  const broker = Bun.spawn([...rennCommand(), "broker", "run"], {
    env: { RENN_HOME: paths.home, PATH: process.env.PATH ?? "" },
    cwd: "/",
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
  });
  running.push({ child: broker as never, output: Promise.resolve(["", ""]) });
  await until(async () => existsSync(paths.log) && (await answers(paths)), "the broker");
  const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);
  expect([paths.home, paths.socket, paths.token, paths.database, paths.lock, paths.log].map(mode)).toEqual([
    "700",
    "600",
    "600",
    "600",
    "600",
    "600",
  ]);
  expect(readFileSync(paths.token, "utf8")).toMatch(/^[0-9a-f]{64}\n$/);
  expect(readFileSync(paths.log, "utf8")).not.toContain(readFileSync(paths.token, "utf8").trim());
});

test("of five that start at once one serves, and the others end well and say who does", async () => {
  const paths = newHome();
  const brokers = Array.from({ length: 5 }, () => run(paths));
  running.push(...brokers);
  await until(() => brokers.filter((b) => b.child.exitCode !== null).length === 4, "the end of the others");
  const ended = brokers.filter((b) => b.child.exitCode !== null);
  const server = brokers.find((b) => b.child.exitCode === null);
  expect(ended.map((b) => b.child.exitCode)).toEqual([0, 0, 0, 0]);
  for (const { output } of ended) expect((await output)[0]).toMatch(/^renn: (broker \d+ .*|another broker) serves /);
  await until(() => answers(paths), "the broker");
  const c = await client(paths, "ann");
  c.request(3, "stats");
  expect(await c.take(1)).toMatchObject([{ result: { pid: server?.child.pid } }]);
});

describe("SIGTERM", () => {
  test("ends it soon: waits are told, the log is in the file, the socket is gone", async () => {
    const paths = newHome();
    const { child, output } = await serving(paths);
    await client(paths, "bob");
    const ann = await client(paths, "ann");
    ann.request(3, "send", { threadId: null, to: "bob", body: "kept" });
    await ann.take(1);
    ann.request(4, "wait", { threadId: 1, until: "all_replied" });
    const eye = await client(paths, "eye");
    for (let id = 3, waits = 0; waits === 0; id++) {
      eye.request(id, "stats");
      waits = ((await eye.take(1))[0] as unknown as { result: { waits: number } }).result.waits;
    }
    const started = performance.now();
    child.kill("SIGTERM");
    expect(await ann.take(1)).toMatchObject([{ id: 4, ok: false, error: { code: "broker_closed" } }]);
    expect(await child.exited).toBe(0);
    expect(performance.now() - started).toBeLessThan(10_000);
    expect(existsSync(paths.socket)).toBe(false);
    expect(statSync(`${paths.database}-wal`, { throwIfNoEntry: false })?.size ?? 0).toBe(0);
    expect((await output)[1]).toBe("");
    await serving(paths);
    const back = await client(paths, "ann");
    back.request(3, "read", { ids: [1] });
    expect(await back.take(1)).toMatchObject([{ result: { messages: [{ body: "kept" }] } }]);
  });
});

describe("what keeps it from starting", () => {
  const cases: [string, (paths: HomePaths) => void, RegExp][] = [
    ["a home that others may enter", (p) => chmodSync(p.home, 0o750), /open to other users; mend it with: chmod 700 '/],
    ["a configuration with an unknown key", (p) => writeFileSync(p.config, '{"colour": 1}'), /unknown key "colour"/],
    ["a token file that holds something else", (p) => writeFileSync(p.token, "secret", { mode: 0o600 }), /does not hold 64 hex digits/],
  ];
  for (const [name, make, message] of cases)
    test(`is told: ${name}`, async () => {
      const paths = newHome();
      make(paths);
      const { child, output } = run(paths, "/");
      expect(await child.exited).toBe(3);
      const [, errors] = await output;
      expect(errors).toMatch(message);
      expect(errors.trim().split("\n")).toHaveLength(1);
      expect(existsSync(paths.socket)).toBe(false);
    });
});

// Another user can only be had as root; and where the machine cannot give one, there is nobody to be refused.
const strangers = process.getuid?.() === 0 && Bun.which("setpriv") ? [65_534] : [];
for (const uid of strangers)
  test("another user's process is refused before it has said a word, though it can open the socket", async () => {
    const paths = newHome();
    await serving(paths);
    chmodSync(paths.home, 0o711);
    chmodSync(paths.socket, 0o666);
    const script = `const s = await Bun.connect({ unix: process.argv[1], socket: {
      open(s) { s.write('{"v":2,"id":1,"type":"status"}\\n'); },
      data(_, b) { console.log("answered", b.toString()); process.exit(1); },
      close() { console.log("closed"); process.exit(0); },
      connectError(_, error) { console.log("closed", error.code); process.exit(0); } } });`;
    const child = Bun.spawn(
      ["setpriv", `--reuid=${uid}`, `--regid=${uid}`, "--clear-groups", process.execPath, "-e", script, paths.socket],
      {
        cwd: "/",
        env: { PATH: process.env.PATH ?? "", HOME: "/", BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0" },
        stdout: "pipe",
        stderr: "pipe",
      },
    );
    expect([await child.stdout.text(), await child.exited]).toEqual([expect.stringMatching(/^closed/), 0]);
    await until(() => readFileSync(paths.log, "utf8").includes("stranger-refused"), "the line in the log");
  });

describe("config.json", () => {
  const config = (text: string) => {
    const paths = newHome();
    writeFileSync(paths.config, text);
    return () => readConfig(paths.config);
  };

  test("sets the owner, whom replies wake, limits and retention; what it leaves out is as it was", () => {
    expect(readConfig(newHome().config)).toMatchObject({ owner: "renn", replies: "woken", retentionDays: 0, limits: defaultLimits });
    expect(config('{"owner":"boss","replies":"all","retentionDays":30,"limits":{"sendsPerWindow":5}}')()).toMatchObject({
      owner: "boss",
      replies: "all",
      retentionDays: 30,
      limits: { ...defaultLimits, sendsPerWindow: 5 },
    });
  });

  const faults: [string, RegExp][] = [
    ["{", /is not JSON/],
    ["[]", /must hold a JSON object/],
    ["null", /must hold a JSON object/],
    ['{"__proto__":1}', /unknown key "__proto__"; known are owner/],
    ['{"toString":1}', /unknown key "toString"/],
    ['{"owner":"Boss"}', /owner must be a handle.*"Boss"/],
    ['{"owner":5}', /owner must be a handle/],
    ['{"replies":"some"}', /replies must be "woken" or "all"/],
    ['{"retentionDays":-1}', /retentionDays must be a whole number/],
    ['{"retentionDays":1.5}', /retentionDays must be a whole number/],
    ['{"limits":[]}', /limits must be an object/],
    ['{"limits":{"sends":1}}', /limits has no "sends"; known are bodyCharactersMax/],
    ['{"limits":{"unreadMax":0}}', /limits\.unreadMax must be a whole number of at least 1/],
    ['{"limits":{"unreadMax":"9"}}', /limits\.unreadMax must be/],
    ['{"owner":"broker"}', /none of all, system, broker/],
  ];
  for (const [text, message] of faults) test(`is refused: ${text}`, () => expect(config(text)).toThrow(message));
});
