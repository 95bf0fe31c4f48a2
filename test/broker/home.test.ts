// What stands in a home when its broker starts: a copy of another home, what a killed broker left, a log that is none, a disk without room.
import { afterEach, describe, expect, test } from "bun:test";
import { cpSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readlinkSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname } from "node:path";
import { openLog } from "../../src/broker/log.ts";
import { holder } from "../../src/holder.ts";
import { type HomePaths, homePaths } from "../../src/home.ts";
import { stopBroker } from "../../src/modes/cli/holder.ts";
import { logFailure } from "../../src/modes/hook/log.ts";
import { placeSocket, startFault } from "../../src/modes/serve/home.ts";
import { rennCommand } from "../binary.ts";
import { RawClient } from "../world/socket.ts";
import { until } from "../world/until.ts";

const folders: string[] = [];
const children: Bun.Subprocess[] = [];

function newFolder(): string {
  const folder = mkdtempSync(`${tmpdir()}/renn ñ 家-`);
  folders.push(folder);
  return folder;
}

function longHome(): HomePaths {
  const home = `${newFolder()}/${"x".repeat(120)}`;
  mkdirSync(home, { mode: 0o700 });
  return homePaths({ RENN_HOME: home });
}

async function answers(paths: HomePaths): Promise<boolean> {
  try {
    (await RawClient.connect(lstatSync(paths.socket).isSymbolicLink() ? readlinkSync(paths.socket) : paths.socket)).close();
    return true;
  } catch {
    return false;
  }
}

/** A broker that serves, with temporary files in a folder of its own. */
async function serving(paths: HomePaths, temporary: string): Promise<Bun.Subprocess> {
  const env = { RENN_HOME: paths.home, HOME: paths.home, PATH: process.env.PATH ?? "", TMPDIR: temporary };
  const child = Bun.spawn([...rennCommand(), "broker", "run"], { env, cwd: "/", stdin: "ignore", stdout: "ignore", stderr: "ignore" });
  children.push(child);
  await until(() => holder(paths)?.pid === child.pid && answers(paths), "the broker");
  return child;
}

async function killed(child: Bun.Subprocess): Promise<void> {
  child.kill("SIGKILL");
  await child.exited;
}

afterEach(async () => {
  await Promise.all(children.splice(0).map(killed));
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

test("a copy of a home has a broker of its own, and who stops that one leaves the first alone", async () => {
  const folder = newFolder();
  const [first, copy] = ["first", "copy"].map((name) => homePaths({ RENN_HOME: `${folder}/${name}` })) as [HomePaths, HomePaths];
  mkdirSync(first.home, { mode: 0o700 });
  const original = await serving(first, folder);
  cpSync(first.home, copy.home, { recursive: true, filter: (path) => !lstatSync(path).isSocket() });
  expect(existsSync(`${copy.home}/broker.pid`)).toBe(true);
  expect(holder(copy)).toBe(null);
  expect(await stopBroker(copy)).toBe(false);
  const second = await serving(copy, folder);
  expect(await stopBroker(copy)).toBe(true);
  expect(await second.exited).toBe(0);
  expect(original.exitCode).toBe(null);
  expect(await answers(first)).toBe(true);
  expect(holder(first)?.pid).toBe(original.pid);
}, 20_000);

describe("the socket's folder outside of a home whose path is long", () => {
  test("is removed by the next broker where the last one was killed", async () => {
    const paths = longHome();
    // Short enough for a socket, and made by nobody else.
    const temporary = mkdtempSync("/tmp/rt-");
    folders.push(temporary);
    const left: string[] = [];
    for (let n = 0; n < 2; n++) {
      const child = await serving(paths, temporary);
      left.push(dirname(readlinkSync(paths.socket)));
      await killed(child);
    }
    expect(left[0]).not.toBe(left[1] as string);
    expect(left.map((folder) => existsSync(folder))).toEqual([false, true]);
    const last = await serving(paths, temporary);
    expect([...new Bun.Glob("renn-*").scanSync({ cwd: temporary, onlyFiles: false })]).toHaveLength(1);
    last.kill("SIGTERM");
    expect(await last.exited).toBe(0);
    expect([...new Bun.Glob("renn-*").scanSync({ cwd: temporary, onlyFiles: false })]).toEqual([]);
  }, 20_000);

  test("stays where it is another home's, open to others, or no folder of a broker", () => {
    const paths = longHome();
    const other = longHome();
    const foreign = mkdtempSync("/tmp/renn-");
    const open = mkdtempSync("/tmp/renn-");
    const named = mkdtempSync("/tmp/rennot-");
    folders.push(foreign, open, named);
    symlinkSync(other.home, `${foreign}/home`);
    for (const folder of [open, named]) symlinkSync(paths.home, `${folder}/home`);
    Bun.spawnSync(["chmod", "755", open]);
    for (const folder of [foreign, open, named]) {
      symlinkSync(`${folder}/bus.sock`, paths.socket);
      folders.push(dirname(placeSocket(paths).path));
      expect(existsSync(`${folder}/home`)).toBe(true);
    }
  });
});

describe("a log that is no file", () => {
  const cases: [string, (path: string, target: string) => void][] = [
    ["a link", (path, target) => symlinkSync(target, path)],
    ["a FIFO", (path) => void Bun.spawnSync(["mkfifo", path])],
    ["a folder", (path) => mkdirSync(path)],
  ];
  for (const [name, make] of cases)
    test(`is left alone: ${name}`, () => {
      const paths = homePaths({ RENN_HOME: newFolder() });
      const target = `${paths.home}/target`;
      writeFileSync(target, "mine");
      for (const path of [paths.log, paths.hookLog]) make(path, target);
      const before = [paths.log, paths.hookLog].map((path) => lstatSync(path).ino);
      openLog(paths.log, "info", () => 0)("error", "lost");
      expect(() => logFailure(paths, "claude", "Stop", "no answer")).toThrow();
      expect([paths.log, paths.hookLog].map((path) => lstatSync(path).ino)).toEqual(before);
      expect(statSync(target).size).toBe(4);
    });

  test("is not waited for by who wants to read it", () => {
    const paths = homePaths({ RENN_HOME: newFolder() });
    Bun.spawnSync(["mkfifo", paths.log]);
    const env = { RENN_HOME: paths.home, HOME: paths.home, PATH: process.env.PATH ?? "" };
    const ran = Bun.spawnSync([...rennCommand(), "broker", "logs"], { env, cwd: "/", timeout: 10_000 });
    expect([ran.exitCode, ran.stderr.toString()]).toEqual([1, expect.stringContaining("broker.log is no regular file")]);
  }, 20_000);
});

describe("a full disk", () => {
  test("is named", () => {
    const paths = homePaths({ RENN_HOME: "/somewhere/home" });
    const full = (code: string, path?: string) => Object.assign(new Error("no room"), { code, ...(path ? { path } : {}) });
    expect(startFault(full("SQLITE_FULL"), paths)).toBe("the disk of /somewhere/home is full (no room); make room there");
    expect(startFault(full("ENOSPC", "/tmp/renn-XXXXXX"), paths)).toBe("the disk of /tmp/renn-XXXXXX is full (no room); make room there");
    expect(startFault(full("EACCES"), paths)).toBe("no room");
  });
});
