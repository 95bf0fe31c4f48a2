// Edits of JSON files with comments that leave every other byte alone.
import {
  findNodeAtLocation,
  getNodeValue,
  type JSONPath,
  modify,
  type Node,
  type ParseError,
  parse,
  parseTree,
  printParseErrorCode,
} from "jsonc-parser";
import { type EditedText, lineEnd } from "./hunks.ts";
import { indentUnit, insertMember, lineIndent, render } from "./json-insert.ts";

/** A configuration file that cannot be edited; the message says why and where. */
export class BrokenFile extends Error {}

const parseOptions = { allowTrailingComma: true, allowEmptyContent: true } as const;

/** The tree of a file whose root is an object; undefined where there is nothing but comments. Throws BrokenFile. */
export function jsonTree(text: string): Node | undefined {
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, parseOptions);
  const error = errors[0];
  if (error) {
    const line = text.slice(0, error.offset).split("\n").length;
    throw new BrokenFile(`it is no JSON: ${printParseErrorCode(error.error)} in line ${line}`);
  }
  if (root && root.type !== "object") throw new BrokenFile("its root is no object");
  return root;
}

/** The value at a path, as the program that owns the file reads it (the last of equal keys counts). */
export function jsonValue(text: string, path: JSONPath): unknown {
  let at: unknown = parse(text, [], parseOptions);
  for (const step of path) at = typeof at === "object" && at !== null ? (at as Record<string | number, unknown>)[step] : undefined;
  return at;
}

/** Sets the value at a path. Throws BrokenFile where something stands in the way. */
export function putJson(edited: EditedText, path: string[], value: unknown): void {
  const root = prepare(edited, path);
  const old = findNodeAtLocation(root, path);
  if (old) {
    const { text } = edited;
    edited.replace(old.offset, old.length, render(value, lineIndent(text, old.offset), indentUnit(text), lineEnd(text)));
  } else insertDeep(edited, root, path, value);
  if (!Bun.deepEquals(jsonValue(edited.text, path), value)) throw new BrokenFile(`${path.join(".")} stands in it twice`);
}

/** Appends to the list at a path, which is made where it is missing. Throws BrokenFile where something else stands there. */
export function appendJson(edited: EditedText, path: string[], value: unknown): void {
  const root = prepare(edited, path);
  const list = findNodeAtLocation(root, path);
  if (list && list.type !== "array") throw new BrokenFile(`${path.join(".")} is no list`);
  if (list) insertMember(edited, list, null, value);
  else insertDeep(edited, root, path, [value]);
  const after = jsonValue(edited.text, path);
  if (!Array.isArray(after) || !Bun.deepEquals(after.at(-1), value)) throw new BrokenFile(`${path.join(".")} stands in it twice`);
}

/** Inserts a value whose path begins in the file and ends outside it. */
function insertDeep(edited: EditedText, root: Node, path: string[], value: unknown): void {
  let known = path.length - 1;
  while (known > 0 && !findNodeAtLocation(root, path.slice(0, known))) known--;
  const container = known ? (findNodeAtLocation(root, path.slice(0, known)) as Node) : root;
  const nested = path.slice(known + 1).reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);
  insertMember(edited, container, path[known] as string, nested);
}

/** Takes out what stands at a path. */
export function removeJson(edited: EditedText, path: JSONPath): void {
  if (jsonValue(edited.text, path) !== undefined) remove(edited, path);
}

/** Sees to it that there is an object to edit and that all above `path` are objects. */
function prepare(edited: EditedText, path: JSONPath): Node {
  if (!jsonTree(edited.text)) {
    const gap = edited.text === "" || edited.text.endsWith("\n") ? "" : lineEnd(edited.text);
    edited.replace(edited.text.length, 0, `${gap}{}${lineEnd(edited.text)}`);
  }
  const root = jsonTree(edited.text) as Node;
  for (let n = 1; n < path.length; n++) {
    const above = findNodeAtLocation(root, path.slice(0, n));
    if (above && above.type !== "object") throw new BrokenFile(`${path.slice(0, n).join(".")} is no object`);
  }
  return root;
}

/** Removes a member and the comma that it no longer needs. */
function remove(edited: EditedText, path: JSONPath): void {
  const edits = modify(edited.text, path, undefined, {});
  for (const edit of edits.sort((a, b) => b.offset - a.offset)) edited.replace(edit.offset, edit.length, edit.content);
}

/** Indexes of the groups at a path that hold a hook of ours, and whether all their hooks are. */
export function hookGroups(
  text: string,
  path: JSONPath,
  client: string,
): { index: number; ours: number[]; only: boolean; value: unknown }[] {
  const root = jsonTree(text);
  const list = root && findNodeAtLocation(root, path);
  if (list?.type !== "array") return [];
  return (list.children ?? []).flatMap((node, index) => {
    const value: unknown = getNodeValue(node);
    const hooks = (value as { hooks?: unknown } | null)?.hooks;
    const handlers = Array.isArray(hooks) ? hooks : [];
    const ours = handlers.flatMap((handler, i) => (isOurHook(handler, client) ? [i] : []));
    return ours.length ? [{ index, ours, only: ours.length === handlers.length, value }] : [];
  });
}

/** Whether a handler runs `…/renn hook <client>`, with whatever behind it. */
function isOurHook(handler: unknown, client: string): boolean {
  const { command, args } = (handler ?? {}) as { command?: unknown; args?: unknown };
  if (typeof command !== "string") return false;
  const words = [command, ...(Array.isArray(args) ? args : [])].join(" ");
  return new RegExp(`/renn'? hook ${client}(?: [a-z-]+)*$`).test(words);
}

/** Takes our hooks out of the groups at a path; a list or object that this leaves empty goes too, one that was empty before stays. */
export function removeHooks(edited: EditedText, path: JSONPath, client: string): void {
  const groups = hookGroups(edited.text, path, client);
  if (!groups.length) return;
  for (const group of groups.reverse()) {
    if (group.only) remove(edited, [...path, group.index]);
    else for (const i of [...group.ours].reverse()) remove(edited, [...path, group.index, "hooks", i]);
  }
  for (let n = path.length; n > 0; n--) {
    const left = jsonValue(edited.text, path.slice(0, n));
    if (typeof left !== "object" || left === null || Object.keys(left).length > 0) return;
    remove(edited, path.slice(0, n));
  }
}
