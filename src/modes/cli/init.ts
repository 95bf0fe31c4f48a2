// `renn init` joins the CLIs of this machine to the bus, `renn uninstall` takes every byte of it out again; what `renn doctor` says of each CLI.
import { existsSync } from "node:fs";
import { isatty } from "node:tty";
import type { Command } from "commander";
import { type HomePaths, homePaths } from "../../home.ts";
import type { Check } from "./doctor.ts";
import { lineDiff } from "./init/diff.ts";
import { inspectCli } from "./init/doctor.ts";
import { realFile } from "./init/files.ts";
import {
  type Chosen,
  chosenClis,
  homeVariable,
  isInstalled,
  isPlaced,
  placeOf,
  placeProgram,
  programFile,
  type SetupCli,
  setupClis,
  signs,
} from "./init/place.ts";
import { contextOf, editsByFile, type FilePlan, type InstalledFile, type Plan, planInstall, planRemoval } from "./init/plan.ts";
import { isHome, purge } from "./init/purge.ts";
import { openSessions } from "./init/running.ts";
import { carryOut, changes, readInstalled } from "./init/store.ts";
import { Exit, print, printJson, warn } from "./output.ts";
import { gather, optionsOf } from "./run.ts";
import { bold, dim, green, indented, red } from "./style.ts";

type Options = Chosen & { yes?: boolean; dryRun?: boolean; purge?: boolean; json?: boolean };

/** Adds the commands. */
export function registerInit(program: Command): void {
  const command = (name: string, summary: string, text: string) =>
    program
      .command(name)
      .summary(summary)
      .description(text)
      .option("--client <name>", "only this CLI (again for more)", gather)
      .option("--config-dir <folder>", "another profile's folder of that CLI")
      .option("-n, --dry-run", "show what would change, and write nothing")
      .option("-y, --yes", "write without a question");
  command(
    "init",
    "join the CLIs on this machine to the bus",
    "Enters renn's hooks (a plugin in opencode, an extension in Hummin) and its MCP server in the configuration of each CLI that it finds. Shows every change and asks before it writes; nothing else in those files is touched, and each is copied to the folder backup of the home first. Run it again after a new CLI; what is in place stays.",
  )
    .option("--project", "for the current folder only")
    .addHelpText("after", () => `\nA CLI is found by its folder or its program:\n${signs()}`)
    .action((_options, self: Command) => init(optionsOf<Options>(self)));
  command(
    "uninstall",
    "take renn out of the CLIs again",
    "Takes out of each CLI's configuration what init has written, byte for byte where nobody else changed the file since. Shows every change and asks before it writes. The home with all messages stays, unless --purge is given.",
  )
    .option("--purge", "then remove the home with all messages too")
    .action((_options, self: Command) => uninstall(optionsOf<Options>(self)));
}

async function init(options: Options): Promise<void> {
  const paths = homePaths();
  const clis = chosenClis(options);
  if (!clis.length)
    throw new Error(
      `no CLI was found; name one with --client (${setupClis.map((c) => c.client).join(", ")}); where it looks: renn init --help`,
    );
  const records = readInstalled(paths);
  const plan: Plan = { files: [], refusals: [] };
  const env = homeVariable(paths);
  const context = contextOf(plan, env.RENN_HOME ?? "", paths.bin);
  for (const cli of clis) planInstall(plan, cli.client, cli.setup.edits(placeOf(cli, options, paths.bin, env)), records, context);
  const written = await settle(paths, plan, records, options);
  if (!options.json && written) await sayAfter(plan, clis);
  if (plan.refusals.length) throw new Exit(1);
}

async function uninstall(options: Options): Promise<void> {
  const paths = homePaths();
  const records = readInstalled(paths);
  const plan: Plan = { files: [], refusals: [] };
  const context = contextOf({ files: [], refusals: [] }, homeVariable(paths).RENN_HOME ?? "", paths.bin);
  const wanted = (record: InstalledFile) => !options.client || options.client.includes(record.client);
  for (const record of [...records.filter(wanted), ...forgotten(paths, records, options)]) planRemoval(plan, record, context);
  plan.files = plan.files.filter((file) => changes(file) || records.some((r) => r.file === file.file));
  const written = await settle(paths, plan, records, options);
  if (!options.json && written) await sayRemoved(paths, plan, options);
  if (plan.refusals.length) throw new Exit(1);
  if (options.purge) await purgeHome(paths, options);
}

/** Files at the usual places that no record speaks of. */
function forgotten(paths: HomePaths, records: readonly InstalledFile[], options: Options): InstalledFile[] {
  const clis = options.client ? chosenClis(options) : setupClis;
  return clis.flatMap((cli) => {
    const edits = cli.setup.edits(placeOf(cli, options, paths.bin, homeVariable(paths)));
    return [...editsByFile(edits)].flatMap(([file, own]) =>
      records.some((r) => r.file === file) ? [] : [{ file, client: cli.client, created: false, folders: [], hunks: [], edits: own }],
    );
  });
}

/** Shows the plan, asks where that is wanted, and carries it out. False when nothing was to be done or was done. */
async function settle(paths: HomePaths, plan: Plan, records: readonly InstalledFile[], options: Options): Promise<boolean> {
  const changed = plan.files.filter(changes);
  const answer = {
    changed: changed.map(({ file, client, after }) => ({ file, client, removed: after === null })),
    refused: plan.refusals,
    dryRun: options.dryRun ?? false,
  };
  if (!options.json) await show(paths, plan);
  for (const { file, why } of plan.refusals) warn(`${file}: ${why}`);
  if (!options.dryRun && changed.length && !agreed(options)) {
    warn("nothing was written; add --yes to write without a question");
    throw new Exit(1);
  }
  if (!options.dryRun) {
    if (plan.files.some((f) => f.record)) placeProgram(paths);
    carryOut(paths, plan, records, new Date().toISOString().replaceAll(":", "-"));
  }
  if (options.json) await printJson(answer);
  else if (!changed.length && !plan.refusals.length)
    await print(`Nothing to do: ${plan.files.length ? "all is as it should be" : "renn is in no CLI"}.`);
  else if (options.dryRun) await print("Nothing was written (--dry-run).");
  return !options.dryRun && changed.length > 0;
}

const headOf = ({ file, before, after }: FilePlan): string => {
  const real = realFile(file);
  return `${after === null ? "remove" : before === null ? "create" : "change"} ${file}${real === file ? "" : `, which is ${real}`}`;
};

const keepThere = "the entries call it by that name, so keep the file there, or run init again from where it goes";

async function show(paths: HomePaths, plan: Plan): Promise<void> {
  const changed = plan.files.filter(changes);
  for (const file of changed) {
    await print(bold(headOf(file)));
    const long = file.before === null && file.record?.edits.some((edit) => edit.kind === "plugin");
    if (long || file.after === null) continue;
    for (const line of lineDiff(file.before ?? "", file.after)) await print(paintDiff(line));
  }
  if (changed.length) await print(`\n${bold("In short:")}`);
  // After pages of lines, what the question is about.
  for (const file of changed) await print(`  ${headOf(file)}`);
  if (plan.files.some((f) => f.record) && !isPlaced(paths))
    await print(indented(`make ${paths.bin} lead to ${programFile()}: ${keepThere}`, 2));
}

function paintDiff(line: string): string {
  if (line.startsWith("+")) return green(line);
  return line.startsWith("-") ? red(line) : dim(line);
}

function agreed(options: Options): boolean {
  if (options.yes) return true;
  return isatty(0) && isatty(1) && confirm("Write this?");
}

async function sayAfter(plan: Plan, clis: readonly SetupCli[]): Promise<void> {
  const done = clis.filter((cli) => plan.files.some((f) => f.client === cli.client && changes(f)));
  for (const cli of done) await print(`${bold(cli.client)}: ${cli.setup.after}`);
  const open = openSessions(done.map((cli) => cli.setup.binary));
  if (open.length) await print("Open now, and not on the bus until they are started again:");
  for (const { pid, name, folder } of open) await print(`  ${name} ${pid}${folder ? ` in ${folder}` : ""}`);
  await print("Copies of the files as they were are in the folder backup of the home. See what works with: renn doctor");
}

async function sayRemoved(paths: HomePaths, plan: Plan, options: Options): Promise<void> {
  const names = [...new Set(plan.files.filter(changes).map((file) => file.client))];
  await print(`renn is out of ${names.join(", ")}. Sessions that are open now keep it until they are started again.`);
  if (!options.purge) await print(`The home ${paths.home} with all messages stays; renn uninstall --purge removes it.`);
}

async function purgeHome(paths: HomePaths, options: Options): Promise<void> {
  const say = async (line: string) => void (options.json || (await print(line)));
  if (!existsSync(paths.home)) return say(`There is no home at ${paths.home}.`);
  if (!isHome(paths)) throw new Error(`${paths.home} is no home of renn`);
  if (options.dryRun) return say(`Would remove ${paths.home} with all messages.`);
  const sure = options.yes || (isatty(0) && isatty(1) && confirm(`Remove ${paths.home} with all messages?`));
  if (!sure) {
    warn(`${paths.home} was kept; add --yes to remove it without a question`);
    throw new Exit(1);
  }
  await purge(paths);
  await say(`Removed ${paths.home} with all messages.`);
}

/** One line for each CLI that is on this machine, or one that says that there is none. */
export async function doctorClis(): Promise<Check[]> {
  const paths = homePaths();
  const found = setupClis.filter(isInstalled);
  if (!found.length)
    return [{ name: "CLIs", ok: true, joined: false, detail: "none was found on this machine; what is looked for: renn init --help" }];
  return Promise.all(found.map((cli) => inspectCli(cli, paths)));
}
