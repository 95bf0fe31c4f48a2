// Hostile files: settings of the CLIs that init edits, transcripts that are no transcripts, databases that are damaged.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname } from "node:path";
import { isCorrupt, NewerStoreError, openStore } from "../../src/broker/store/migrate.ts";
import { cliOf } from "../../src/clis/index.ts";
import { homePaths } from "../../src/home.ts";
import { contextOf, type Plan, planInstall, planRemoval } from "../../src/modes/cli/init/plan.ts";
import { carryOut, readInstalled } from "../../src/modes/cli/init/store.ts";
import { realSystem, type TailMark } from "../../src/system.ts";
import { World } from "../world.ts";
import { type Chance, hostileBytes, mutated, pick } from "./hostile.ts";

const settings: Readonly<Record<string, Record<string, string>>> = {
  claude: {
    ".claude/settings.json":
      '{\n  // mine\n  "model": "opus",\n  "hooks": {\n    "Stop": [{ "hooks": [{ "type": "command", "command": "say done" }] }]\n  },\n}\n',
    ".claude.json": '{"mcpServers":{"db":{"command":"db-mcp","args":["--ro"]}},"numStartups":7}',
  },
  codex: {
    ".codex/config.toml": 'model = "gpt"\n\n[mcp_servers.db]\ncommand = "db"\nargs = ["a", "b"]\n\n[profiles."a b"]\nx = 1\n',
    ".codex/hooks.json": '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}',
  },
  gemini: { ".gemini/settings.json": '{\r\n\t"theme": "dark", /* x */\r\n\t"mcpServers": {}\r\n}\r\n' },
  zcode: { ".zcode/cli/config.json": '{"hooks":{"enabled":true}}' },
  opencode: { ".config/opencode/opencode.jsonc": '{ "$schema": "https://opencode.ai/config.json", "plugin": ["x"], }\n' },
};

/** Runs `step` in a folder of its own. */
export function inFolder<T>(step: (folder: string) => T): T {
  const folder = mkdtempSync(`${existsSync("/dev/shm") ? "/dev/shm" : tmpdir()}/renn-fuzz-`);
  try {
    return step(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A settings file with mutations through init and uninstall: refused and left alone, or joined and given back to the byte. */
function oneSettings(folder: string, chance: Chance): "refused" | "joined" {
  const client = pick(chance, Object.keys(settings));
  const setup = cliOf(client)?.setup;
  if (!setup) throw new Error(`${client} has no setup`);
  const paths = homePaths({ RENN_HOME: `${folder}/renn` });
  const texts = new Map<string, string>();
  for (const [name, text] of Object.entries(settings[client] ?? {})) {
    if (chance() < 0.2) continue;
    const hostile = chance() < 0.1 ? "[".repeat(60_000) : chance() < 0.9 ? mutated(chance, text) : text;
    mkdirSync(dirname(`${folder}/${name}`), { recursive: true });
    writeFileSync(`${folder}/${name}`, hostile);
    texts.set(`${folder}/${name}`, readFileSync(`${folder}/${name}`, "utf8"));
  }
  const place = { folder: `${folder}/${setup.folder.home}`, moved: false, userHome: folder, program: `${folder}/renn/bin/renn`, env: {} };
  const act = (fill: (plan: Plan) => void): Plan => {
    const plan: Plan = { files: [], refusals: [] };
    fill(plan);
    carryOut(paths, plan, readInstalled(paths), "now");
    return plan;
  };
  const plan = act((p) => planInstall(p, client, setup.edits(place), readInstalled(paths), contextOf(p, "", place.program)));
  for (const { file } of plan.refusals)
    if ((texts.get(file) ?? null) !== (existsSync(file) ? readFileSync(file, "utf8") : null))
      throw new Error(`${file} was refused and changed`);
  act((p) => {
    for (const record of readInstalled(paths)) planRemoval(p, record, contextOf({ files: [], refusals: [] }, "", place.program));
  });
  for (const [file, text] of texts)
    if (!existsSync(file) || readFileSync(file, "utf8") !== text)
      throw new Error(
        `${client}: uninstall gave back ${existsSync(file) ? JSON.stringify(readFileSync(file, "utf8")) : "nothing"} for ${JSON.stringify(text)}`,
      );
  return plan.refusals.length ? "refused" : "joined";
}

/** Settings files of all CLIs. Returns how many were refused and joined. */
export function fuzzSettings(count: number, chance: Chance): { refused: number; joined: number } {
  const tally = { refused: 0, joined: 0 };
  for (let n = 0; n < count; n++) tally[inFolder((folder) => oneSettings(folder, chance))]++;
  return tally;
}

/** Transcripts that are something else, that grow, shrink, are replaced or hold gigantic lines: reading ends, and gives whole rows only. */
export function fuzzTranscripts(count: number, chance: Chance): number {
  return inFolder((folder) => {
    Bun.spawnSync(["mkfifo", `${folder}/fifo`]);
    symlinkSync("/dev/zero", `${folder}/link`);
    const odd = [`${folder}/fifo`, `${folder}/link`, "/dev/zero", "/dev/stdin", folder, `${folder}/missing`, "", "\0", "x".repeat(9_000)];
    for (const path of odd) {
      if (realSystem.tail(path, null, 1_048_576) !== null) throw new Error(`${path} was read as a transcript`);
      if (realSystem.tailMark(path)?.size) throw new Error(`${path} has a mark`);
    }
    const path = `${folder}/transcript.jsonl`;
    let mark: TailMark | null = null;
    for (let n = 0; n < count; n++) {
      const started = performance.now();
      change(path, chance);
      const chunk = realSystem.tail(path, mark, pick(chance, [1_000, 65_536, 1_048_576]));
      if (chunk?.rows.some((row) => row.includes("\n"))) throw new Error("a row holds a newline");
      mark = chance() < 0.1 ? { inode: 1, size: 2 ** 40 } : (chunk?.mark ?? null);
      if (performance.now() - started > 2_000) throw new Error("reading a transcript took more than 2 s");
    }
    return count + odd.length;
  });
}

function change(path: string, chance: Chance): void {
  const kind = chance();
  if (kind < 0.05) rmSync(path, { force: true });
  else if (kind < 0.1) writeFileSync(path, hostileBytes(chance, 3_000));
  else if (kind < 0.15 && existsSync(path)) truncateSync(path, 0);
  else if (kind < 0.17) writeFileSync(path, Buffer.alloc(9 * 1_048_576, 97), { flag: "a" });
  else writeFileSync(path, Buffer.concat([hostileBytes(chance, 2_000), Buffer.from("\n")]), { flag: "a" });
}

/** A database with damage at random places: it opens and serves, is moved aside, or is refused with a reason; never half of it, never for ever. */
export function fuzzDatabases(count: number, chance: Chance): Record<string, number> {
  const tally: Record<string, number> = {};
  inFolder((folder) => {
    const whole = `${folder}/whole.db`;
    makeDatabase(whole);
    const bytes = readFileSync(whole);
    for (let n = 0; n < count; n++) {
      const path = `${folder}/${n}.db`;
      const damaged = Buffer.from(bytes);
      for (let spots = 1 + Math.floor(chance() * 8); spots > 0; spots--)
        damaged.set(hostileBytes(chance, 400), Math.floor(chance() * (damaged.length - 400)));
      writeFileSync(path, chance() < 0.2 ? damaged.subarray(0, Math.floor(chance() * damaged.length)) : damaged);
      const outcome = openDamaged(path);
      tally[outcome] = (tally[outcome] ?? 0) + 1;
    }
  });
  return tally;
}

function makeDatabase(path: string): void {
  const world = new World({ file: path, limits: { sendsPerWindow: 1_000 } });
  const ann = world.register("ann");
  world.register("bob");
  for (let n = 0; n < 60; n++) ann.call("send", { threadId: null, to: ["bob"], body: `message ${n} ${"y".repeat(n * 30)}` });
  world.restart("gently");
  world.end();
}

function openDamaged(path: string): string {
  let moved: string | null;
  let kept: boolean;
  try {
    const opened = openStore(path, 1);
    opened.db.close();
    ({ moved, kept } = opened);
  } catch (error) {
    // Damage can make it look like a newer build's.
    if (error instanceof NewerStoreError) return "refused as newer";
    throw error;
  }
  if (moved && !existsSync(moved)) throw new Error("a damaged database was not moved aside but is gone");
  try {
    // A broker over what was opened: whether it can serve at all.
    const world = new World({ file: path });
    const peers = world.broker.bus.peers.all().length;
    world.end();
    if (!kept && peers !== 1) throw new Error(`the new database has ${peers} peers`);
    return !moved ? "serves" : kept ? "serves with a new index" : "moved aside";
  } catch (error) {
    // The process moves such a file aside as well.
    if (isCorrupt(error)) return "moved aside at the first turn";
    throw error;
  }
}
