// A damaged store is never the end of a home: what SQLite calls corrupt is moved aside whenever it is found, and a new store serves (semantics §10).
import { Database } from "bun:sqlite";
import { afterEach, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { openStore } from "../../src/broker/store/migrate.ts";
import { type HomePaths, homePaths } from "../../src/home.ts";
import { rennCommand } from "../binary.ts";
import { until } from "../world/until.ts";
import { World } from "../world.ts";

const pageBytes = 4096;
const folders: string[] = [];
let whole: Buffer;
let roots: Record<string, number>;

function newHome(): HomePaths {
  const home = mkdtempSync(`${tmpdir()}/renn ñ 家-`);
  folders.push(home);
  return homePaths({ RENN_HOME: home });
}

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

beforeAll(() => {
  const { database } = newHome();
  const world = new World({ file: database, limits: { sendsPerWindow: 1_000 } });
  const ann = world.register("ann");
  world.register("bob");
  for (let n = 0; n < 60; n++) ann.call("send", { threadId: null, to: ["bob"], body: `message ${n} ${"y".repeat(n * 30)}` });
  expect(ann.call("search", { text: "message" }).results.length).toBeGreaterThan(0);
  world.broker.stop();
  whole = readFileSync(database);
  const db = new Database(database, { readonly: true });
  const rows = db.query("SELECT name, rootpage FROM sqlite_schema WHERE rootpage > 0").all() as { name: string; rootpage: number }[];
  roots = Object.fromEntries(rows.map(({ name, rootpage }) => [name, rootpage]));
  db.close();
});

/** A store whose pages from `first` to `last`, counted from 1, hold something else. */
function damagedStore(paths: HomePaths, first: number, last = first): Buffer {
  const bytes = Buffer.from(whole);
  bytes.fill(0xa5, (first - 1) * pageBytes, Math.min(last * pageBytes, bytes.length));
  writeFileSync(paths.database, bytes, { mode: 0o600 });
  return bytes;
}

const pageOf = (name: string): number => roots[name] ?? Number.NaN;
const aside = (paths: HomePaths) => readdirSync(paths.home).filter((name) => /^renn\.db\.corrupt-\d+$/.test(name));

describe("a damaged search index", () => {
  for (const part of ["config", "data"])
    test(`costs no message and is made again: its ${part}`, () => {
      const paths = newHome();
      const damaged = damagedStore(paths, pageOf(`messages_search_${part}`));
      const { db, moved, kept } = openStore(paths.database, 7);
      expect([moved, kept]).toEqual([`${paths.database}.corrupt-7`, true]);
      expect(readFileSync(`${paths.database}.corrupt-7`).equals(damaged)).toBe(true);
      expect(db.query("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
      db.close();
      const world = new World({ file: paths.database, limits: { sendsPerWindow: 1_000 } });
      const ann = world.register("ann");
      expect(ann.call("search", { text: "59" }).results).toMatchObject([{ id: 60 }]);
      expect(ann.call("export", { sinceId: 0 }).messages).toHaveLength(60);
      expect(ann.call("send", { threadId: null, to: ["bob"], body: "next" })).toMatchObject({ messageId: 61 });
      world.end();
    });
});

describe("the broker's process", () => {
  const env = (paths: HomePaths) => ({ RENN_HOME: paths.home, HOME: paths.home, PATH: process.env.PATH ?? "", LANG: "C.UTF-8" });

  /** Starts a broker, ends it as soon as it serves, and gives what it said. */
  async function servesOnce(paths: HomePaths): Promise<{ status: number; errors: string }> {
    const child = Bun.spawn([...rennCommand(), "broker", "run"], { env: env(paths), cwd: "/", stdout: "ignore", stderr: "pipe" });
    const log = () => (readdirSync(paths.home).includes("broker.log") ? readFileSync(paths.log, "utf8") : "");
    await until(() => child.exitCode !== null || log().includes(`"serving","pid":${child.pid}`), "the broker");
    child.kill("SIGTERM");
    return { status: await child.exited, errors: await child.stderr.text() };
  }

  // What cannot be opened, what cannot be loaded, and what only the search needs.
  const places: [string, () => [number, number], string][] = [
    ["the schema", () => [1, 2], "a new one was started"],
    ["all tables", () => [3, 12], "a new one was started"],
    ["the peers", () => [pageOf("peers"), pageOf("peers")], "a new one was started"],
    ["the search index", () => [pageOf("messages_search_config"), pageOf("messages_search_config")], "its messages were taken over"],
  ];
  for (const [name, pages, said] of places)
    test(`moves a store aside where ${name} is damaged, says so, and serves`, async () => {
      const paths = newHome();
      damagedStore(paths, ...pages());
      const { status, errors } = await servesOnce(paths);
      expect(errors).toStartWith(`renn: the store was corrupt and was moved to ${paths.database}.corrupt-`);
      expect(errors).toContain(said);
      expect([status, aside(paths).length]).toEqual([0, 1]);
      // The second start finds nothing to mend.
      expect(await servesOnce(paths)).toEqual({ status: 0, errors: "" });
    }, 20_000);
});

test("a row whose list is damaged keeps neither the broker from starting nor its reader from the rest", () => {
  const { database } = newHome();
  const before = new World({ file: database });
  const ann = before.register("ann");
  before.register("bob");
  ann.call("send", { threadId: null, to: ["bob"], body: "damaged", references: ["a"] });
  ann.call("send", { threadId: null, to: ["bob"], body: "whole" });
  before.end();
  const db = new Database(database);
  db.run("UPDATE messages SET recipients = 'x]', refs = '{}' WHERE body = 'damaged'");
  db.close();
  const after = new World({ file: database });
  const { threads } = after.register("bob").call("inbox", { unreadOnly: true });
  expect(threads.flatMap((thread) => thread.messages.map((m) => [m.firstLine, m.to])).sort()).toEqual([
    ["damaged", []],
    ["whole", ["bob"]],
  ]);
  after.end();
});
