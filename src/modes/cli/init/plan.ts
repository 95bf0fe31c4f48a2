// What init or uninstall would do to each file: the text before, the text after, and how to get back. Nothing is written here.
import { existsSync } from "node:fs";
import type { Edit } from "../../../clis/edits.ts";
import { checkText, type EditContext, isThere, putIn, takeOut } from "./edit.ts";
import { readText, realFile } from "./files.ts";
import { EditedText, type Hunk, takeBack } from "./hunks.ts";
import { BrokenFile } from "./json-edit.ts";

/** A file that init has written: how, so that uninstall can undo it. */
export type InstalledFile = { file: string; client: string; created: boolean; folders: string[]; hunks: Hunk[]; edits: Edit[] };

/** A file's part of a plan. `after: null` removes it. */
export type FilePlan = {
  file: string;
  client: string;
  before: string | null;
  after: string | null;
  /** What will be remembered of it; null to forget. */
  record: InstalledFile | null;
};
/** A file that is left alone, and why. */
export type Refusal = { file: string; client: string; why: string };
export type Plan = { files: FilePlan[]; refusals: Refusal[] };

const byteOrderMark = "\ufeff";

/** Where the edits of one client go: each file once, in the order of its first edit. */
export function editsByFile(edits: readonly Edit[]): Map<string, Edit[]> {
  const files = new Map<string, Edit[]>();
  for (const edit of edits) {
    const candidates = Array.isArray(edit.file) ? edit.file : [edit.file];
    const file = candidates.find((f) => existsSync(f)) ?? (candidates[0] as string);
    files.set(file, [...(files.get(file) ?? []), edit]);
  }
  return files;
}

/** A context that sees the files of `plan` as they will be, and the others as they are. */
export function contextOf(plan: Plan, home: string, program: string): EditContext {
  const textOf = (file: string) => {
    const planned = plan.files.find((f) => f.file === file);
    return (planned ? planned.after : readText(file)) ?? "";
  };
  return { home, program, textOf };
}

/** Adds to the plan what one client needs. */
export function planInstall(
  plan: Plan,
  client: string,
  edits: readonly Edit[],
  records: readonly InstalledFile[],
  context: EditContext,
): void {
  for (const [file, wanted] of editsByFile(edits)) {
    guarded(plan, file, client, () => {
      const before = readText(file);
      const record = records.find((r) => r.file === file);
      const text = stripMark(before ?? "");
      for (const edit of wanted) checkText(text, edit);
      if (before !== null && wanted.every((edit) => isThere(text, edit, context))) {
        const kept = record ?? { file, client, created: false, folders: [], hunks: [], edits: wanted };
        plan.files.push({ file, client, before, after: before, record: kept });
        return;
      }
      const edited = new EditedText(withoutOurs(text, record, wanted, context));
      for (const edit of wanted) putIn(edited, edit, context);
      const created = record?.created ?? before === null;
      const folders = record?.folders ?? [];
      const after = markOf(before) + edited.text;
      plan.files.push({ file, client, before, after, record: { file, client, created, folders, hunks: edited.hunks, edits: wanted } });
    });
  }
}

/** Adds to the plan that a file is rid of what is ours. */
export function planRemoval(plan: Plan, record: InstalledFile, context: EditContext): void {
  guarded(plan, record.file, record.client, () => {
    const before = readText(record.file);
    if (before === null) return void plan.files.push({ file: record.file, client: record.client, before, after: null, record: null });
    const left = withoutOurs(stripMark(before), record, record.edits, context);
    const empty = left.trim() === "" || (record.created && /^\s*\{\s*\}\s*$/.test(left));
    const gone = empty && (record.created || record.edits.every((edit) => edit.kind === "plugin"));
    plan.files.push({ file: record.file, client: record.client, before, after: gone ? null : markOf(before) + left, record: null });
  });
}

/** The text without what is ours: by the remembered edits where they are still found, then by looking. */
function withoutOurs(text: string, record: InstalledFile | undefined, edits: readonly Edit[], context: EditContext): string {
  const back = record ? takeBack(text, record.hunks) : null;
  const edited = new EditedText(back !== null && isSound(back, edits) ? back : text);
  if (edited.text.trim() !== "") for (const edit of edits) takeOut(edited, edit, context);
  return edited.text;
}

function isSound(text: string, edits: readonly Edit[]): boolean {
  try {
    for (const edit of edits) checkText(text, edit);
    return true;
  } catch {
    return false;
  }
}

function guarded(plan: Plan, file: string, client: string, act: () => void): void {
  try {
    act();
  } catch (error) {
    const why = error instanceof BrokenFile ? `it is left alone: ${error.message}` : error instanceof Error ? error.message : String(error);
    plan.refusals.push({ file: realFile(file), client, why });
  }
}

function stripMark(text: string): string {
  return text.startsWith(byteOrderMark) ? text.slice(1) : text;
}

function markOf(text: string | null): string {
  return text?.startsWith(byteOrderMark) ? byteOrderMark : "";
}
