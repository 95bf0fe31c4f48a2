// How tests run renn as a process: the built program where it is newer than every source, else the source itself.
import { existsSync, readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dir, "..");

function newest(folder: string): number {
  let latest = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true }))
    if (entry.isFile()) latest = Math.max(latest, statSync(join(entry.parentPath, entry.name)).mtimeMs);
  return latest;
}

let command: string[] | undefined;

/** The words that start renn; its arguments follow. */
export function rennCommand(): string[] {
  if (command) return command;
  const built = join(root, "dist", "renn");
  const current =
    existsSync(built) && statSync(built).mtimeMs > Math.max(newest(join(root, "src")), statSync(join(root, "package.json")).mtimeMs);
  command = current ? [built] : [process.execPath, join(root, "src", "main.ts")];
  return command;
}
