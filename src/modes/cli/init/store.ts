// What init remembers: the files it has written, in <home>/installed.json, and copies of what they were before, in <home>/backup.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { HomePaths } from "../../../home.ts";
import { readText, removeEmpty, removeFile, writeText } from "./files.ts";
import type { FilePlan, InstalledFile, Plan } from "./plan.ts";

const recordOf = (paths: HomePaths) => `${paths.home}/installed.json`;

/** The files that init has written; none where nothing can be read. */
export function readInstalled(paths: HomePaths): InstalledFile[] {
  try {
    const { files } = JSON.parse(readText(recordOf(paths)) ?? "{}");
    return Array.isArray(files) ? files : [];
  } catch {
    return [];
  }
}

/** Whether a file's part of the plan changes it. */
export function changes(file: FilePlan): boolean {
  return file.before !== file.after;
}

/** Carries the plan out: a copy of each file first, then the files, then the record. Throws with the first file that cannot be written. */
export function carryOut(paths: HomePaths, plan: Plan, records: readonly InstalledFile[], time: string): void {
  let known = [...records];
  const emptied: string[] = [];
  for (const file of plan.files) {
    const folders = changes(file) ? write(paths, file, time) : [];
    if (file.after === null) emptied.push(...(known.find((r) => r.file === file.file)?.folders ?? []));
    known = known.filter((r) => r.file !== file.file);
    if (file.record) known.push({ ...file.record, folders: folders.length ? folders : file.record.folders });
    if (changes(file) || file.record) save(paths, known);
  }
  removeEmpty(emptied);
}

function write(paths: HomePaths, file: FilePlan, time: string): string[] {
  if (file.before !== null) backUp(paths, file.file, file.before, time);
  if (file.after !== null) return writeText(file.file, file.after);
  removeFile(file.file);
  return [];
}

function backUp(paths: HomePaths, file: string, text: string, time: string): void {
  const folder = join(paths.home, "backup", `init-${time}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(join(folder, file.replace(/^\/+/, "").replaceAll("/", "%")), text, { mode: 0o600 });
}

function save(paths: HomePaths, files: readonly InstalledFile[]): void {
  mkdirSync(paths.home, { recursive: true, mode: 0o700 });
  writeText(recordOf(paths), `${JSON.stringify({ version: 1, files }, null, 1)}\n`);
}
