// The database file: older, newer and broken ones (semantics §10).
import { Database } from "bun:sqlite";
import { afterEach, describe, expect, test } from "bun:test";
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { NewerStoreError, openStore, schemaVersion } from "../../src/broker/store/migrate.ts";
import { World } from "../world.ts";

let folder: string | undefined;
function newFile(): string {
  folder = mkdtempSync(`${tmpdir()}/renn ñ 家-`);
  return `${folder}/renn.db`;
}
afterEach(() => {
  if (folder) rmSync(folder, { recursive: true, force: true });
  folder = undefined;
});

function filled(file: string): void {
  const world = new World({ file });
  const worker = world.session("worker", { bypass: true });
  world.owner({}, worker.fields.host.hostPid).call("send", { threadId: null, to: "worker", body: "kept" });
  world.broker.stop();
}

describe("an older file", () => {
  test("is given the columns that it lacks, and keeps what it has", () => {
    const file = newFile();
    filled(file);
    const db = new Database(file);
    for (const [table, column] of [
      ["messages", "via"],
      ["sessions", "pinned"],
      ["sessions", "bypass"],
    ])
      db.run(`ALTER TABLE ${table} DROP COLUMN ${column}`);
    db.close();
    const world = new World({ file });
    const ann = world.register("ann");
    expect(ann.call("read", { ids: [1] }).messages[0]).toMatchObject({ body: "kept", from: "renn", via: null, to: ["worker"] });
    const worker = world.connect("w");
    worker.call("register", { handle: "worker", clientKind: "cli" });
    expect(worker.call("whoami", {}).pinned).toBe(false);
    worker.call("reply", { messageId: 1, body: "yes" });
    world.broker.stop();
  });

  test("opened twice is migrated once", () => {
    const file = newFile();
    openStore(file, 0).db.close();
    const before = new Database(file);
    const schema = before.query("SELECT sql FROM sqlite_schema").all();
    before.close();
    const { db } = openStore(file, 0);
    expect(db.query("SELECT sql FROM sqlite_schema").all()).toEqual(schema);
    db.close();
  });
});

describe("a newer file", () => {
  const bytes = (file: string) => Object.fromEntries(readdirSync(dirname(file)).map((name) => [name, hashOf(join(dirname(file), name))]));
  const hashOf = (path: string) => (statSync(path).isFile() ? Bun.hash(readFileSync(path)) : null);

  test("is refused by name and version, and not one byte of it changes", () => {
    const file = newFile();
    filled(file);
    const db = new Database(file);
    db.run(`PRAGMA user_version = ${schemaVersion + 1}`);
    db.run("PRAGMA wal_checkpoint(TRUNCATE)");
    db.close();
    rmSync(`${file}-wal`, { force: true });
    rmSync(`${file}-shm`, { force: true });
    const before = bytes(file);
    expect(() => openStore(file, 0)).toThrow(NewerStoreError);
    expect(() => openStore(file, 0)).toThrow(new RegExp(`schema version ${schemaVersion + 1}.*RENN_HOME`));
    expect(bytes(file)["renn.db"]).toBe(before["renn.db"]);
  });

  test("that was killed and has a log is not checkpointed either", () => {
    const file = newFile();
    filled(file);
    const db = new Database(file);
    db.run(`PRAGMA user_version = ${schemaVersion + 1}`);
    db.run("INSERT INTO facts VALUES ('of the newer one', 1)");
    const killed = newKilledCopy(file);
    db.close();
    const before = bytes(killed);
    expect(() => openStore(killed, 0)).toThrow(NewerStoreError);
    const after = bytes(killed);
    expect([after["renn.db"], after["renn.db-wal"]]).toEqual([before["renn.db"], before["renn.db-wal"]]);
  });

  function newKilledCopy(file: string): string {
    const copy = mkdtempSync(`${file}-copy`);
    for (const end of ["", "-wal"]) copyFileSync(file + end, `${copy}/renn.db${end}`);
    return `${copy}/renn.db`;
  }
});

describe("a file that is none", () => {
  for (const [name, content] of [
    ["no database", "this is no database, but long enough to be looked at".repeat(100)],
    ["a broken one", null],
  ] as const)
    test(`${name}: is moved aside, and a new one is made`, () => {
      const file = newFile();
      if (content) writeFileSync(file, content);
      else {
        filled(file);
        const good = readFileSync(file);
        good.fill(0xff, 100, 8192);
        writeFileSync(file, good);
      }
      const before = readFileSync(file);
      const { db, moved } = openStore(file, 1234);
      expect(moved).toBe(`${file}.corrupt-1234`);
      expect(readFileSync(`${file}.corrupt-1234`)).toEqual(before);
      expect(db.query("SELECT count(*) AS n FROM peers").get()).toEqual({ n: 0 });
      db.close();
    });

  test("an empty file is a new store; any other fault is told and moves nothing", () => {
    const file = newFile();
    writeFileSync(file, "");
    const { db, moved } = openStore(file, 0);
    expect(moved).toBe(null);
    db.run("BEGIN EXCLUSIVE");
    db.run("ROLLBACK");
    db.close();
    expect(() => openStore(`${file}/below/renn.db`, 0)).toThrow();
    expect(readdirSync(dirname(file)).filter((n) => n.includes("corrupt"))).toEqual([]);
  });
});

test("a new file is the user's alone from its first moment", () => {
  const file = newFile();
  const old = process.umask(0);
  const { db } = openStore(file, 0);
  db.run("CREATE TABLE x (y)");
  process.umask(old);
  for (const end of ["", "-wal", "-shm"]) expect(statSync(file + end).mode & 0o777).toBe(0o600);
  db.close();
});

test("everything is there again after a stop, and after a kill", () => {
  const world = new World({ file: newFile() });
  const ann = world.register("ann", { display: "Ann", role: "tests" });
  world.register("bob", { listen: true });
  ann.call("send", { threadId: null, to: "bob", body: "one", references: ["r"], mode: "push" });
  for (const how of ["gently", "crash"] as const) {
    world.restart(how);
    const again = world.register("ann");
    expect(again.call("status", {}).peers.find((p) => p.handle === "ann")).toMatchObject({ display: "Ann", role: "tests" });
    expect(again.call("thread", { threadId: 1 }).messages).toMatchObject([
      { id: 1, seq: 1, to: ["bob"], references: ["r"], firstLine: "one" },
    ]);
    expect(world.register("bob", { listen: true }).pushed()).toEqual([1]);
  }
  world.end();
});

test("at the stop the log is in the file, and lastSeen with it", () => {
  const file = newFile();
  const world = new World({ file });
  world.register("ann");
  world.advance(3000);
  world.connections.get("ann")?.call("whoami", {});
  const seen = world.system.wall;
  world.broker.stop();
  expect(statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0).toBe(0);
  const db = new Database(file, { readonly: true });
  expect(db.query("SELECT last_seen_at FROM peers WHERE handle = 'ann'").get()).toEqual({ last_seen_at: seen });
  db.close();
});

test("what is answered with ok waits for the disk where it must, and only there", () => {
  const world = new World();
  const ann = world.register("ann");
  const worker = world.session("worker");
  world.register("bob");
  let asked: boolean[] = [];
  const { store } = world.broker.bus;
  const begin = store.begin.bind(store);
  store.begin = (durable) => {
    asked.push(durable);
    begin(durable);
  };
  const durable = (from: typeof ann, type: string, fields: object) => {
    asked = [];
    from.request(type, fields);
    return [asked, (store.db.query("PRAGMA synchronous").get() as { synchronous: number }).synchronous];
  };
  const session = { ...worker.fields, handle: undefined, event: "prompt" };
  for (const [from, type, fields] of [
    [ann, "send", { threadId: null, to: ["bob", "worker"], body: "hi" }],
    [worker, "reply", { messageId: 1, body: "yes" }],
    [ann, "ack", { ids: [2] }],
    [ann, "delivered", { ids: [2] }],
    [ann, "groups", { action: "create", name: "crew" }],
    [ann, "register", { handle: "ann", clientKind: "mcp" }],
    [worker, "session", { ...session, title: "A name" }],
    [worker, "session", { ...session, handle: "chosen" }],
    [ann, "prune", {}],
  ] as const)
    expect([type, durable(from, type, fields)]).toEqual([type, [[true], 2]]);
  for (const [from, type, fields] of [
    [worker, "session", session],
    [worker, "hook", { event: "prompt" }],
    [ann, "read", { ids: [1] }],
    [ann, "status", {}],
    [ann, "fetch-push", { handle: "ann", limit: 1 }],
  ] as const)
    expect([type, durable(from, type, fields)]).toEqual([type, [[false], 1]]);
  asked = [];
  ann.post("status");
  worker.post("send", { threadId: null, to: "ann", body: "in one turn with a status" });
  world.settle();
  expect(asked).toEqual([true]);
});
