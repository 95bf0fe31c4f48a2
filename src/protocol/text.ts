// What a session or a terminal is shown of a message, and why nothing in it can pass for the bus (semantics §5, §8). Pure.
import type { Verdict } from "./constants.ts";

/** Tags that only a CLI may write, as it marks what comes from its system, its user or its other sessions. */
const cliTags = [
  "system-reminder",
  "hook_context",
  "hook_prompt",
  "cross-session-message",
  "teammate-message",
  "task-notification",
  "command-name",
  "command-message",
  "local-command-",
  "environment_context",
  "user_instructions",
  "permissions",
];
/** Openings that only the bus or a CLI may write. In other people's text a space is put behind their first character. */
const forgeable = ["[murmur", "[reply:", ...cliTags.flatMap((tag) => [`<${tag}`, `</${tag}`])];
const forgeableAscii = new RegExp(`\\[(?=murmur|reply:)|<(?=/?(?:${cliTags.join("|")}))`, "gi");
const plainAscii = /^[\t\n -~]*$/;
const invisible = /[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Mn}\p{Me}\u2800]/u;
/** Brackets, and what looks like them. */
const squareOpenings = "[\uff3b\ufe47\u27e6\u301a\u3010";
const angleOpenings = "<\uff1c\ufe64\u2039\u2329\u27e8\u3008";
const openings = new RegExp(`[\\${squareOpenings}${angleOpenings}]`, "g");
/** Control characters but tab and newline, bidi controls, line and paragraph separators, tag and interlinear characters. */
const unshowable = /(?![\t\n])[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** Shows control characters, bidi controls and terminal escapes as `\u001b`; tab and newline stay, CRLF becomes LF. */
export function visible(text: string): string {
  if (plainAscii.test(text)) return text;
  return text.replaceAll("\r\n", "\n").replace(unshowable, (c) => escaped(c.codePointAt(0) ?? 0));
}

function escaped(point: number): string {
  const hex = point.toString(16);
  return point > 0xffff ? `\\u{${hex}}` : `\\u${hex.padStart(4, "0")}`;
}

/** Text of another peer, fit for a session's context or a terminal: forged tags are broken (`[ murmur`), controls shown. */
export function harmless(text: string): string {
  if (plainAscii.test(text)) return text.replace(forgeableAscii, "$& ");
  return visible(breakForged(text));
}

/** The same on one line: newlines and tabs become spaces. For titles, names, roles, references. */
export function harmlessLine(text: string): string {
  return harmless(text.replace(/\s+/g, " ").trim());
}

/** Breaks forgeable openings also behind compatibility characters (full-width, styled), look-alike brackets and invisible characters. */
function breakForged(text: string): string {
  let out = "";
  let from = 0;
  for (const { index } of text.matchAll(openings)) {
    if (!opensForged(text, index)) continue;
    out += `${text.slice(from, index + 1)} `;
    from = index + 1;
  }
  return out + text.slice(from);
}

/** Whether one of the forgeable openings starts at a bracket: read letter by letter, as it would look. Ends at the first letter that fits none. */
function opensForged(text: string, at: number): boolean {
  let read = squareOpenings.includes(text[at] ?? "") ? "[" : "<";
  for (let i = at + 1; i < text.length; ) {
    const point = String.fromCodePoint(text.codePointAt(i) ?? 0);
    i += point.length;
    if (invisible.test(point)) continue;
    read += folded(point);
    let fits = false;
    for (const opening of forgeable) {
      if (read.startsWith(opening)) return true;
      fits ||= opening.startsWith(read);
    }
    if (!fits) return false;
  }
  return false;
}

/** A character as the plain one that it looks like. */
function folded(point: string): string {
  if (/\p{Pd}/u.test(point)) return "-";
  return point === "\u2236" || point === "\ua789" ? ":" : point.normalize("NFKC").toLowerCase();
}

/** Length in Unicode code points, the unit of the protocol's "characters". */
export function codePoints(text: string): number {
  let n = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0xd800 || unit > 0xdbff) n++;
    else {
      const next = text.charCodeAt(i + 1);
      if (next >= 0xdc00 && next <= 0xdfff) i++;
      n++;
    }
  }
  return n;
}

let segmenter: Intl.Segmenter | undefined;
const isPrintableAscii = (unit: number): boolean => unit >= 0x20 && unit <= 0x7e;

/** The first `max` code points, stepping back at most 64 UTF-16 units so that no grapheme is cut in two. */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  let end = 0;
  for (let n = 0; n < max && end < text.length; n++) end += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1;
  if (end >= text.length) return text;
  // Between two printable ASCII characters there is always a boundary; to ask a segmenter costs more than the rest of a send.
  if (isPrintableAscii(text.charCodeAt(end - 1)) && isPrintableAscii(text.charCodeAt(end))) return text.slice(0, end);
  segmenter ??= new Intl.Segmenter();
  const from = Math.max(0, end - 64);
  let whole = from;
  for (const { index } of segmenter.segment(text.slice(from, end + 64))) {
    if (from + index > end) break;
    whole = from + index;
  }
  return text.slice(0, whole > from ? whole : end);
}

const lineEnd = /[\r\n\u2028\u2029]/;

/** The first line with something in it, at most `max` code points. */
export function firstLine(body: string, max: number): string {
  if (body.length <= max && !lineEnd.test(body)) return body.trim();
  const head = body.length > 4096 ? body.slice(0, 4096).trimStart() || body.trimStart() : body.trimStart();
  const end = head.search(lineEnd);
  return cut((end < 0 ? head.slice(0, max * 2) : head.slice(0, end)).trimEnd(), max);
}

/** Whether a body has a character that can be seen. */
export function hasVisible(body: string): boolean {
  return /[^\s\p{Default_Ignorable_Code_Point}\p{C}]/u.test(body);
}

/** A message as the text builder needs it. */
export type TextMessage = {
  id: number;
  threadId: number;
  seq: number;
  from: string;
  via: string | null;
  to: readonly string[];
  replyTo: number | null;
  verdict: Verdict | null;
  references: readonly string[];
  at: number;
  body: string;
};
/** How the text ends: by a tool where the session has the tools, by a command where it has not. */
export type TextStyle = { tools: boolean; now: number; bodyCharactersMax: number };

const recipientsShown = 5;
const referencesCharactersMax = 1000;
const oldMs = 60_000;

/** The tag line; `[murmur m<id>` at its start is what delivery proof searches for. */
export function tagLine(m: TextMessage, now: number): string {
  const to = m.to.slice(0, recipientsShown).join(", ") + (m.to.length > recipientsShown ? ` +${m.to.length - recipientsShown}` : "");
  const re = m.replyTo ? ` re m${m.replyTo}${m.verdict ? ` ${m.verdict}` : ""}` : "";
  const age = now - m.at > oldMs ? ` · sent ${ageWords(now - m.at)} ago` : "";
  return `[murmur m${m.id} thread ${m.threadId} #${m.seq}${re} from ${m.from}${m.via ? ` via ${m.via}` : ""} to ${to}${age}]`;
}

/** An age in words: `3 min`, `2 h`, `5 days`. */
export function ageWords(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return `${Math.max(0, Math.floor(ms / 1000))} s`;
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} days`;
}

/** The last line of a pushed text: how to reply. */
export function replyFooter(m: { id: number; threadId: number }, tools: boolean): string {
  return tools
    ? `[reply: reply tool with messageId ${m.id} · thread ${m.threadId}]`
    : `[reply: renn reply ${m.id} "…" · renn thread ${m.threadId}]`;
}

/** The exact text that a session sees: tag line, body (cut at the limit, and saying so), references, footer. */
export function deliveryText(m: TextMessage, style: TextStyle): string {
  const shown = cut(m.body, style.bodyCharactersMax);
  const lines = [tagLine(m, style.now), harmless(shown)];
  if (shown.length < m.body.length) lines.push(cutMark({ id: m.id, length: codePoints(m.body) }, style.tools));
  if (m.references.length) lines.push(`refs: ${referencesLine(m.references)}`);
  lines.push(replyFooter(m, style.tools));
  return lines.join("\n");
}

/** Cut before they are made harmless, since that costs by the character, and after, since it may make them longer. */
function referencesLine(references: readonly string[]): string {
  return cut(harmlessLine(cut(references.join(", "), referencesCharactersMax)), referencesCharactersMax);
}

/** The line behind a cut body: how long the whole is (code points), and how to read on. */
export function cutMark(m: { id: number; length: number }, tools: boolean): string {
  const how = tools ? `read tool with ids [${m.id}]` : `renn read ${m.id}`;
  return `… cut: the whole message has ${m.length} characters; ${how} gives all of it`;
}

/** A notify message: one line that starts with the tag. */
export function notifyLine(m: TextMessage, now: number, firstLineMax: number): string {
  return `${tagLine(m, now)} ${harmlessLine(firstLine(m.body, firstLineMax))}`;
}

/** A name as a handle: lowercase, runs of other characters one hyphen, trimmed, at most 48 characters, trimmed again (semantics §4). */
export function slug(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 48)
    .replace(/-+$/, "");
}
