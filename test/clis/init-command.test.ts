// `renn init` and `renn uninstall` as commands.
import { afterEach, expect, test } from "bun:test";
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { rennCommand } from "../binary.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** A user with a Claude Code and a Codex, and a project folder. */
function user() {
  const home = mkdtempSync(`${tmpdir()}/user ñ 家-`);
  folders.push(home);
  for (const folder of [".claude", ".codex", "project"]) mkdirSync(`${home}/${folder}`);
  const run = async (...args: string[]) => {
    const child = Bun.spawn([...rennCommand(), ...args], {
      cwd: `${home}/project`,
      env: { HOME: home, PATH: "/nowhere" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const [out, err, status] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited]);
    return { out, err, status };
  };
  return { home, run };
}

test("without a terminal and without --yes nothing is written, nor with --dry-run", async () => {
  const { home, run } = user();
  expect(await run("init", "--dry-run")).toMatchObject({ status: 0, err: "" });
  const asked = await run("init");
  expect(asked.status).toBe(1);
  expect(asked.err).toContain("add --yes");
  expect(asked.out).toContain("hook claude");
  expect(readdirSync(`${home}/.claude`)).toEqual([]);
  expect(existsSync(`${home}/.renn`)).toBe(false);
});

test("before the question stands in short what would change, and the program that the entries lead to", async () => {
  const { home, run } = user();
  const { out } = await run("init", "--dry-run");
  const short = out.slice(out.indexOf("In short:")).split("\n");
  expect(short.slice(0, 5)).toEqual([
    "In short:",
    `  create ${home}/.claude/settings.json`,
    `  create ${home}/.claude.json`,
    `  create ${home}/.codex/hooks.json`,
    `  create ${home}/.codex/config.toml`,
  ]);
  expect(short[5]).toStartWith(`  make ${home}/.renn/bin/renn lead to /`);
  expect(short[6]).toBe("Nothing was written (--dry-run).");
});

test("the CLIs that are there are joined by the stable name, and uninstall --purge leaves nothing", async () => {
  const { home, run } = user();
  const done = await run("init", "--yes", "--json");
  expect(done.status).toBe(0);
  const { changed } = JSON.parse(done.out);
  expect(changed.map((c: { client: string }) => c.client)).toEqual(["claude", "claude", "codex", "codex"]);
  expect(readFileSync(`${home}/.claude/settings.json`, "utf8")).toContain(`'${home}/.renn/bin/renn' hook claude --tools`);
  expect(lstatSync(`${home}/.renn/bin/renn`)).toBeDefined();
  expect(statSync(`${home}/.renn`).mode & 0o777).toBe(0o700);
  expect((await run("init", "--yes")).out).toBe("Nothing to do: all is as it should be.\n");
  const gone = await run("uninstall", "--yes");
  expect(gone.status).toBe(0);
  expect(gone.out).toContain("renn is out of claude, codex.");
  expect(gone.out).toContain(`The home ${home}/.renn with all messages stays`);
  expect((await run("uninstall", "--purge", "--dry-run")).out).toBe(
    `Nothing to do: renn is in no CLI.\nWould remove ${home}/.renn with all messages.\n`,
  );
  expect(await run("uninstall", "--yes", "--purge")).toEqual({
    status: 0,
    out: `Nothing to do: renn is in no CLI.\nRemoved ${home}/.renn with all messages.\n`,
    err: "",
  });
  expect((await run("uninstall", "--yes", "--purge")).out).toBe(`Nothing to do: renn is in no CLI.\nThere is no home at ${home}/.renn.\n`);
  // Run from source, Bun keeps a folder of its own in the home.
  expect(
    readdirSync(home)
      .filter((name) => name !== ".bun")
      .sort(),
  ).toEqual([".claude", ".codex", "project"]);
  expect([...readdirSync(`${home}/.claude`), ...readdirSync(`${home}/.codex`)]).toEqual([]);
});

test("another profile, and a project", async () => {
  const { home, run } = user();
  expect((await run("init", "-y", "--client", "claude", "--config-dir", `${home}/work`)).status).toBe(0);
  expect(readdirSync(`${home}/work`).sort()).toEqual([".claude.json", "settings.json"]);
  expect((await run("init", "-y", "--client", "claude", "--project")).status).toBe(0);
  expect(readdirSync(`${home}/project`).sort()).toEqual([".claude", ".mcp.json"]);
  expect(readdirSync(`${home}/.claude`)).toEqual([]);
  expect((await run("uninstall", "-y")).status).toBe(0);
  expect([existsSync(`${home}/work`), ...readdirSync(`${home}/project`)]).toEqual([false]);
});

test("a CLI is found by the folder that it makes first, and help says where init looks", async () => {
  const { home, run } = user();
  for (const folder of [".hummin", ".zcode"]) mkdirSync(`${home}/${folder}`);
  const { changed } = JSON.parse((await run("init", "--dry-run", "--json")).out);
  expect([...new Set(changed.map((c: { client: string }) => c.client))]).toEqual(["claude", "codex", "zcode", "hummin"]);
  const help = (await run("init", "--help")).out;
  for (const said of [
    "~/.claude (or $CLAUDE_CONFIG_DIR), or claude on PATH",
    "~/.zcode, or zcode on PATH",
    "~/.hummin,",
    "~/.config/opencode",
  ])
    expect(help).toContain(said);
});

test("doctor tells a CLI that was never joined from one that lacks something", async () => {
  const { home, run } = user();
  type Doctor = { checks: { name: string; ok: boolean; joined?: boolean; detail: string }[] };
  const found = async () => {
    const { checks } = JSON.parse((await run("doctor", "--json")).out) as Doctor;
    return checks.filter((c) => "joined" in c).map(({ name, ok, joined }) => ({ name, ok, joined }));
  };
  await run("init", "--yes", "--client", "claude");
  expect(await found()).toEqual([
    { name: "claude", ok: true, joined: true },
    { name: "codex", ok: true, joined: false },
  ]);
  expect((await run("doctor")).out).toMatch(/^not joined codex: .*\n +join: renn init --client codex$/m);
  rmSync(`${home}/.claude.json`);
  expect((await found())[0]).toEqual({ name: "claude", ok: false, joined: true });
  for (const folder of [".claude", ".codex"]) rmSync(`${home}/${folder}`, { recursive: true });
  expect(await found()).toEqual([{ name: "CLIs", ok: true, joined: false }]);
});

test("what cannot be asked for is said", async () => {
  const { run } = user();
  const unknown = await run("init", "--client", "vim");
  expect(unknown).toMatchObject({ status: 2, out: "" });
  expect(unknown.err).toContain("claude, codex, gemini, zcode, opencode, hummin");
  expect((await run("init", "--config-dir", "/x")).status).toBe(2);
});
