// What each kind of edit (src/clis/edits.ts) means for a text: whether it is there, putting it in, taking it out.
import type { Edit } from "../../../clis/edits.ts";
import { pluginText } from "../../../clis/plugins.ts";
import type { EditedText } from "./hunks.ts";
import { appendJson, BrokenFile, hookGroups, jsonTree, jsonValue, putJson, removeHooks, removeJson } from "./json-edit.ts";
import { appendToml, readToml, removeToml, tomlHeader, tomlValue } from "./toml-edit.ts";
import { trustHash, trustKey } from "./trust.ts";

/** What edits need to know beside their own file. */
export type EditContext = {
  /** RENN_HOME for plugins, empty where it is the default home. */
  home: string;
  program: string;
  /** The present text of another file of the plan (Codex's hooks.json). */
  textOf(file: string): string;
};

const pluginHead = "// renn's connection to its bus from inside another program.";

/** Whether the edit is in the text just as it would be made now. */
export function isThere(text: string, edit: Edit, context: EditContext): boolean {
  if (edit.kind === "hook") {
    const groups = hookGroups(text, edit.path, edit.client);
    return groups.length === 1 && Bun.deepEquals(groups[0]?.value, edit.value);
  }
  if (edit.kind === "value") {
    const value = jsonValue(text, edit.path);
    return Bun.deepEquals(value, edit.value) || (edit.keep === true && value !== undefined);
  }
  if (edit.kind === "toml") return Bun.deepEquals(tomlValue(text, edit.table), tomlValue(edit.text, edit.table));
  if (edit.kind === "plugin") return text === plugin(edit, context);
  return trustEntries(edit, context).every(({ key, hash }) => tomlValue(text, ["hooks", "state", key, "trusted_hash"]) === hash);
}

/** Puts the edit in. Throws BrokenFile where the file does not take it. */
export function putIn(edited: EditedText, edit: Edit, context: EditContext): void {
  if (edit.kind !== "codex-trust" && isThere(edited.text, edit, context)) return;
  if (edit.kind === "hook") return appendJson(edited, edit.path, edit.value);
  if (edit.kind === "value") return putJson(edited, edit.path, edit.value);
  if (edit.kind === "toml") return appendToml(edited, edit.table, edit.text);
  if (edit.kind === "plugin") return putPlugin(edited, plugin(edit, context));
  for (const { key, hash } of trustEntries(edit, context)) {
    const path = ["hooks", "state", key];
    if (tomlValue(edited.text, [...path, "trusted_hash"]) === hash) continue;
    removeToml(edited, path);
    appendToml(edited, path, `${tomlHeader(path)}\ntrusted_hash = ${JSON.stringify(hash)}\n`);
  }
}

/** Takes out what is ours, also when it is not quite what would be made now. */
export function takeOut(edited: EditedText, edit: Edit, context: EditContext): void {
  if (edit.kind === "hook") return removeHooks(edited, edit.path, edit.client);
  if (edit.kind === "toml") return removeToml(edited, edit.table);
  if (edit.kind === "plugin") {
    if (edited.text.startsWith(pluginHead)) edited.replace(0, edited.text.length, "");
    return;
  }
  if (edit.kind === "value") {
    if (isOurServer(jsonValue(edited.text, edit.path))) removeJson(edited, edit.path);
    return;
  }
  for (const { key, hash } of trustEntries(edit, context))
    if (tomlValue(edited.text, ["hooks", "state", key, "trusted_hash"]) === hash) removeToml(edited, ["hooks", "state", key]);
}

/** Throws BrokenFile unless the text can be edited as what it is. */
export function checkText(text: string, edit: Edit): void {
  if (edit.kind === "hook" || edit.kind === "value") jsonTree(text);
  if (edit.kind === "toml" || edit.kind === "codex-trust") readToml(text);
}

function plugin(edit: Edit & { kind: "plugin" }, context: EditContext): string {
  return pluginText(edit.name, context.home, context.program);
}

function putPlugin(edited: EditedText, text: string): void {
  if (edited.text !== "" && !edited.text.startsWith(pluginHead)) throw new BrokenFile("another file has this name");
  edited.replace(0, edited.text.length, text);
}

/** An MCP server entry that runs `…/renn mcp`. */
function isOurServer(value: unknown): boolean {
  const { command, args } = (value ?? {}) as { command?: unknown; args?: unknown };
  const words = [command, args].flat().filter((word) => typeof word === "string");
  return words.length === 2 && /\/renn$/.test(words[0] ?? "") && words[1] === "mcp";
}

/** Key and hash for each hook of ours in the hooks file, as it will be. */
export function trustEntries(edit: Edit & { kind: "codex-trust" }, context: EditContext): { key: string; hash: string }[] {
  const text = context.textOf(edit.hooksFile);
  const events = jsonValue(text, ["hooks"]);
  return Object.keys(events ?? {}).flatMap((event) =>
    hookGroups(text, ["hooks", event], edit.client).flatMap(({ index, ours, value }) =>
      ours.map((handler) => {
        const { hooks } = value as { hooks: { type: string; command: string; timeout?: number }[] };
        return { key: trustKey(edit.hooksFile, event, index, handler), hash: trustHash(event, hooks[handler] as (typeof hooks)[number]) };
      }),
    ),
  );
}
