// Reading and writing other programs' configuration: links are followed, modes kept, files replaced whole.
import {
  closeSync,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

/** The file behind a path, through links; a link to nothing leads to where it points. */
export function realFile(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const link = lstatSync(path, { throwIfNoEntry: false });
    return link?.isSymbolicLink() ? resolve(dirname(path), readlinkSync(path)) : path;
  }
}

/** The text of a file; null when there is none. Throws on what is no text file. */
export function readText(path: string): string | null {
  if (!existsSync(path)) return null;
  if (!statSync(path).isFile()) throw new Error(`${path} is no file`);
  const bytes = readFileSync(path);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Error(`${path} is not UTF-8 text`);
  }
}

/** Replaces a file at once, with its old mode (0600 for a new one). Gives the folders that had to be made, the outermost first. */
export function writeText(path: string, text: string): string[] {
  const real = realFile(path);
  const made = missingFolders(dirname(real));
  mkdirSync(dirname(real), { recursive: true });
  const mode = (statSync(real, { throwIfNoEntry: false })?.mode ?? 0o600) & 0o7777;
  const unfinished = join(dirname(real), `.${basename(real)}.renn-${process.pid}`);
  rmSync(unfinished, { force: true });
  const umask = process.umask(0);
  try {
    const fd = openSync(unfinished, "wx", mode);
    writeFileSync(fd, text);
    fsyncSync(fd);
    closeSync(fd);
    renameSync(unfinished, real);
  } finally {
    process.umask(umask);
    rmSync(unfinished, { force: true });
  }
  return made;
}

function missingFolders(folder: string): string[] {
  const missing: string[] = [];
  for (let at = folder; !existsSync(at) && at !== dirname(at); at = dirname(at)) missing.unshift(at);
  return missing;
}

/** Removes a file that init made; its link, if it was one, stays. */
export function removeFile(path: string): void {
  rmSync(realFile(path), { force: true });
}

/** Removes the folders that init made, as far as they are empty. */
export function removeEmpty(folders: readonly string[]): void {
  for (const folder of [...folders].sort((a, b) => b.length - a.length)) {
    try {
      rmdirSync(folder);
    } catch {
      // Somebody else uses it now.
    }
  }
}
