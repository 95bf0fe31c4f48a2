// Where the CLIs of this machine keep their configuration, and the stable name that their entries give renn.
import { existsSync, mkdirSync, readFileSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Cli, SetupSide } from "../../../clis/cli.ts";
import type { SetupPlace } from "../../../clis/edits.ts";
import { clis } from "../../../clis/index.ts";
import type { HomePaths } from "../../../home.ts";
import { UsageError } from "../output.ts";

export type SetupCli = Cli & { setup: SetupSide };
export type Chosen = { client?: string[]; configDir?: string; project?: boolean };

/** The CLIs that can be joined by init. */
export const setupClis = clis.filter((cli): cli is SetupCli => cli.setup !== undefined);

/** Whether a CLI is on this machine: its configuration folder or its program. */
export function isInstalled(cli: SetupCli): boolean {
  const { folder, moved, userHome } = placeOf(cli, {}, "", {});
  const { sign } = cli.setup.folder;
  return existsSync(sign && !moved ? `${userHome}/${sign}` : folder) || Bun.which(cli.setup.binary) !== null;
}

/** By what each CLI is found, one line each. */
export function signs(): string {
  const signOf = ({ client, setup: { folder, binary } }: SetupCli) =>
    `  ${client.padEnd(10)}~/${folder.sign ?? folder.home}${folder.env ? ` (or $${folder.env})` : ""}, or ${binary} on PATH`;
  return setupClis.map(signOf).join("\n");
}

/** The CLIs that the options name, else those that are found. Throws UsageError. */
export function chosenClis({ client, configDir }: Chosen): SetupCli[] {
  const named = (client ?? []).map((name) => {
    const cli = setupClis.find((c) => c.client === name);
    if (!cli) throw new UsageError(`--client must be one of ${setupClis.map((c) => c.client).join(", ")}, and is ${JSON.stringify(name)}`);
    return cli;
  });
  if (configDir !== undefined && named.length !== 1) throw new UsageError("--config-dir needs one --client, whose folder it is");
  return named.length ? named : setupClis.filter(isInstalled);
}

/** Where to write for one CLI. */
export function placeOf(cli: SetupCli, chosen: Chosen, program: string, env: Record<string, string>): SetupPlace {
  const userHome = process.env.HOME || "/";
  const moved = chosen.configDir ?? (cli.setup.folder.env ? process.env[cli.setup.folder.env] : undefined);
  const folder = moved ? absolute(moved) : `${userHome}/${cli.setup.folder.home}`;
  return { folder, moved: Boolean(moved), userHome, program, env, ...(chosen.project && { project: process.cwd() }) };
}

function absolute(path: string): string {
  return path.startsWith("/") ? path.replace(/(?<=.)\/+$/, "") : `${process.cwd()}/${path}`;
}

/** RENN_HOME, where entries must name it. */
export function homeVariable(paths: HomePaths): Record<string, string> {
  return paths.home === `${process.env.HOME || ""}/.renn` ? {} : { RENN_HOME: paths.home };
}

const compiled = Bun.main.startsWith("/$bunfs/");
const quote = (word: string) => `'${word.replaceAll("'", "'\\''")}'`;
const script = `#!/bin/sh\nexec ${quote(process.execPath)} ${quote(Bun.main)} "$@"\n`;

/** The file that `<home>/bin/renn` leads to once it is placed: this program, or its source. */
export const programFile = (): string => (compiled ? realpathSync(process.execPath) : Bun.main);

/** Whether `<home>/bin/renn` leads to this program. */
export function isPlaced(paths: HomePaths): boolean {
  return compiled ? leadsHere(paths.bin) : existsSync(paths.bin) && readFileSync(paths.bin, "utf8") === script;
}

/** Makes `<home>/bin/renn` lead to this program. From source it is a small script that runs the source. */
export function placeProgram(paths: HomePaths): void {
  if (isPlaced(paths)) return;
  mkdirSync(dirname(paths.bin), { recursive: true, mode: 0o700 });
  const unfinished = `${paths.bin}.${process.pid}`;
  rmSync(unfinished, { force: true });
  if (compiled) symlinkSync(programFile(), unfinished);
  else writeFileSync(unfinished, script, { mode: 0o700 });
  renameSync(unfinished, paths.bin);
}

function leadsHere(path: string): boolean {
  try {
    return realpathSync(path) === realpathSync(process.execPath);
  } catch {
    return false;
  }
}
