// Putting a member into a JSON object or list without touching a byte beside it: jsonc-parser's own formatter would rewrite the neighbours.
import { createScanner, type Node } from "jsonc-parser";
import { type EditedText, lineEnd } from "./hunks.ts";

/** jsonc-parser's SyntaxKind, whose names TypeScript does not let us import. */
const kinds = { comma: 5, lineBreak: 14, space: 15, end: 17 };

/** Appends `member` (a property's `"key": value` parts or a list's value) to a container. */
export function insertMember(edited: EditedText, container: Node, key: string | null, value: unknown): void {
  const { text } = edited;
  const eol = lineEnd(text);
  const unit = indentUnit(text);
  const outer = lineIndent(text, container.offset);
  const last = container.children?.at(-1);
  const inner = last && startsLine(text, last.offset) ? lineIndent(text, last.offset) : outer + unit;
  const member = (key === null ? "" : `${JSON.stringify(key)}: `) + render(value, inner, unit, eol);
  const close = container.offset + container.length - 1;
  const { at, comma } = last ? afterLast(text, last.offset + last.length, close) : { at: container.offset + 1, comma: null };
  const needsLine = !/\n[ \t]*$/.test(text.slice(at, close));
  const added = eol + inner + member + (needsLine ? eol + outer : "");
  // One edit, comma and comments between included, so that it can be found and taken back as a whole.
  if (comma === null) edited.replace(at, 0, added);
  else edited.replace(comma, at - comma, `,${text.slice(comma, at)}${added}`);
}

/** A value as text whose lines after the first stand at `indent`. */
export function render(value: unknown, indent: string, unit: string, eol: string): string {
  return JSON.stringify(value, null, unit).replaceAll("\n", eol + indent);
}

/** What the file indents by: its first indented line, else two spaces. */
export function indentUnit(text: string): string {
  const indent = /^([ \t]+)\S/m.exec(text)?.[1] ?? "  ";
  return indent.startsWith("\t") ? "\t" : indent.slice(0, 8);
}

/** The white space at the start of the line that holds a place. */
export function lineIndent(text: string, at: number): string {
  const start = text.lastIndexOf("\n", at - 1) + 1;
  return /^[ \t]*/.exec(text.slice(start, at))?.[0] ?? "";
}

function startsLine(text: string, at: number): boolean {
  return /^[ \t]*$/.test(text.slice(text.lastIndexOf("\n", at - 1) + 1, at));
}

/**
 * Where a new member goes behind the last one: behind its trailing comma if it has one (else `comma` says where one must go), and behind
 * comments on the same line.
 */
function afterLast(text: string, end: number, close: number): { at: number; comma: number | null } {
  const scanner = createScanner(text.slice(0, close), false);
  scanner.setPosition(end);
  let comma: number | null = end;
  let at = end;
  for (let kind = scanner.scan(); kind !== kinds.end; kind = scanner.scan()) {
    if (kind === kinds.comma) comma = null;
    if (kind === kinds.lineBreak && comma === null) break;
    if (kind === kinds.lineBreak && !commaFollows(text, scanner.getPosition(), close)) break;
    if (kind !== kinds.space) at = scanner.getPosition();
  }
  return { at, comma };
}

function commaFollows(text: string, from: number, close: number): boolean {
  const scanner = createScanner(text.slice(0, close), true);
  scanner.setPosition(from);
  return scanner.scan() === kinds.comma;
}
