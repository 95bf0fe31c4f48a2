// Edits as they were made, so that uninstall can give back the very bytes: each says what stood at a place and what was put there.

/** One replacement; `at` is a place in the text as it was when this one was made, in UTF-16 units. */
export type Hunk = { at: number; removed: string; inserted: string };

/** A text that is being edited, and how. */
export class EditedText {
  text: string;
  readonly hunks: Hunk[] = [];
  constructor(text: string) {
    this.text = text;
  }

  replace(at: number, length: number, inserted: string): void {
    const removed = this.text.slice(at, at + length);
    if (removed === inserted) return;
    this.hunks.push({ at, removed, inserted });
    this.text = this.text.slice(0, at) + inserted + this.text.slice(at + length);
  }
}

/** So many characters that stand in a file just as we put them are ours. */
const unmistakable = 30;

/**
 * Takes the hunks back, the last one first; null when one of them cannot be found again, since somebody has changed it. Once one was found at
 * another place than it was put, only those that are unmistakably ours are taken.
 */
export function takeBack(text: string, hunks: readonly Hunk[]): string | null {
  let out = text;
  let moved = false;
  for (const { at, removed, inserted } of [...hunks].reverse()) {
    const there: boolean = !moved && out.startsWith(inserted, at);
    const place: number = there ? at : nearest(out, inserted, at);
    if (place < 0) return null;
    moved ||= place !== at;
    out = out.slice(0, place) + removed + out.slice(place + inserted.length);
  }
  return out;
}

/** Where `part` stands nearest to `at`; -1 where it does not, or where it is too little to be recognised. */
function nearest(text: string, part: string, at: number): number {
  if (part.length < unmistakable) return -1;
  const before = text.lastIndexOf(part, at);
  const after = text.indexOf(part, at);
  if (before < 0 || after < 0) return Math.max(before, after);
  return at - before <= after - at ? before : after;
}

/** The line end that a text uses. */
export function lineEnd(text: string): "\r\n" | "\n" {
  const first = text.indexOf("\n");
  return first > 0 && text[first - 1] === "\r" ? "\r\n" : "\n";
}
