// What is done when there is time for it: retention, search, names that end, the log (semantics §10).
import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { openLog } from "../../src/broker/log.ts";
import { World } from "../world.ts";

const day = 24 * 3_600_000;
let folder: string | undefined;
afterEach(() => {
  if (folder) rmSync(folder, { recursive: true, force: true });
  folder = undefined;
});

describe("retention", () => {
  function old(retentionDays: number) {
    const world = new World({ retentionDays, limits: { sendsPerWindow: 1000 } });
    const ann = world.register("ann");
    const bob = world.register("bob");
    for (let n = 0; n < 60; n++) ann.call("send", { threadId: null, to: "bob", body: `old ${n}` });
    bob.call("ack", { ids: Array.from({ length: 60 }, (_, n) => n + 1).filter((id) => id !== 5) });
    const left = () => ann.call("export", {}).messages.map((m) => m.id);
    return { world, ann, bob, left };
  }
  /** Days pass, and every day something is asked. */
  const days = (world: World, count: number) => {
    for (let n = 0; n < count; n++) {
      world.advance(day);
      world.connections.get("ann")?.call("status", {});
      world.advance(60_000);
    }
  };

  test("removes threads that are old and hold nothing unread, after two looks a day apart", () => {
    const { world, ann, left } = old(3);
    days(world, 3);
    expect(left()).toHaveLength(60);
    days(world, 3);
    expect(left()).toEqual([5]);
    expect(ann.refused("thread", { threadId: 1 }).code).toBe("unknown_thread");
    expect(ann.call("search", { text: "old" }).results.map((r) => r.id)).toEqual([5]);
  });

  test("gives no id twice, though the newest are gone", () => {
    const { world, bob } = old(1);
    bob.call("ack", { ids: [5] });
    days(world, 5);
    world.restart();
    const ann = world.register("ann");
    expect(ann.call("export", {}).messages).toEqual([]);
    expect(ann.call("send", { threadId: null, to: "bob", body: "new" })).toMatchObject({ messageId: 61, threadId: 61 });
  });

  test("removes nothing when the clock jumps ahead and is set right again, nor with 0 days", () => {
    const jumped = old(3);
    jumped.world.system.wall += 300 * day;
    jumped.ann.call("status", {});
    jumped.world.advance(60_000);
    jumped.world.system.wall -= 300 * day;
    days(jumped.world, 2);
    expect(jumped.left()).toHaveLength(60);
    const forever = old(0);
    days(forever.world, 30);
    expect(forever.left()).toHaveLength(60);
  });
});

describe("idle steps", () => {
  test("fill full-text search, so that a later search has little to do", () => {
    const world = new World({ limits: { sendsPerWindow: 10_000, unreadMax: 10_000 } });
    const ann = world.register("ann");
    world.register("bob");
    for (let n = 0; n < 700; n++) ann.post("send", { threadId: null, to: "bob", body: `word${n}` });
    world.settle();
    world.advance(60_000);
    expect(world.broker.bus.store.fact("search_filled")).toBe(700);
  });

  test("end aliases whose day is over, and then the broker sleeps", () => {
    const world = new World();
    const ann = world.register("ann");
    ann.call("name", { handle: "anna" });
    world.advance(day);
    ann.call("status", {});
    world.advance(10_000);
    expect(world.broker.bus.aliases.size).toBe(0);
    expect(world.broker.bus.dueAt).toBe(Number.POSITIVE_INFINITY);
  });

  test("with a live session the broker looks after its host every five seconds, and for nothing else", () => {
    const world = new World();
    world.session("worker");
    world.advance(60_000);
    let looks = 0;
    const { processStart } = world.system;
    world.system.processStart = (pid) => {
      looks++;
      return processStart.call(world.system, pid);
    };
    world.advance(60_000);
    expect(looks).toBe(12);
  });
});

test("a thread that is in use no more is read from the file again", () => {
  const world = new World({ limits: { sendsPerWindow: 1e6, unreadMax: 1e6 } });
  const ann = world.register("ann");
  world.register("bob");
  for (let n = 0; n < 4200; n++) ann.post("send", { threadId: null, to: "bob", body: `${n}` });
  world.settle();
  expect(world.broker.bus.threads.size).toBe(4096);
  expect(ann.call("send", { threadId: 1, to: "bob", body: "again" })).toMatchObject({ threadId: 1, seq: 2 });
});

describe("the log", () => {
  const lines = (path: string) =>
    readFileSync(path, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));

  test("is JSON lines of the wanted level, the user's alone", () => {
    folder = mkdtempSync(`${tmpdir()}/renn ñ 家-`);
    const path = `${folder}/broker.log`;
    for (const level of ["warn", undefined, "nonsense"]) {
      const log = openLog(path, level, () => 0);
      log("error", "one", { why: "x\ny" });
      log("info", "two");
      log("debug", "three");
    }
    expect(lines(path).map((l) => l.event)).toEqual(["one", "one", "two", "one", "two"]);
    expect(lines(path)[0]).toMatchObject({ at: "1970-01-01T00:00:00.000Z", level: "error", event: "one", pid: process.pid, why: "x\ny" });
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test("is rotated at five MiB, three old ones are kept", () => {
    folder = mkdtempSync(`${tmpdir()}/renn ñ 家-`);
    const path = `${folder}/broker.log`;
    const log = openLog(path, "info", () => 0);
    for (let n = 0; n < 6; n++) {
      writeFileSync(path, `${n}${"x".repeat(5 * 1_048_576)}`);
      log("info", "next");
    }
    expect([1, 2, 3].map((n) => readFileSync(`${path}.${n}`, "utf8")[0])).toEqual(["5", "4", "3"]);
    expect(existsSync(`${path}.4`)).toBe(false);
    expect(lines(path)).toHaveLength(1);
  });

  test("of a folder that is gone loses lines and nothing else", () => {
    const log = openLog("/nowhere/at/all/broker.log", "info", () => 0);
    expect(() => log("error", "lost")).not.toThrow();
  });
});
