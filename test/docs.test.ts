// The documentation as a reader meets it: what is made from the source is up to date, and every link leads somewhere.
import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { currentText, freshText, madeFiles } from "./docs/make.ts";

const root = join(import.meta.dir, "..");
const pages = ["README.md", "CONTRIBUTING.md", "SECURITY.md", ...readdirSync(join(root, "docs")).map((name) => `docs/${name}`)].filter(
  (file) => file.endsWith(".md") && existsSync(join(root, file)),
);

/** The anchor that a heading gets: lower case, only letters, digits, hyphens and underscores, spaces as hyphens. */
const anchor = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");

const anchorsOf = (text: string): string[] => [...text.matchAll(/^#{1,6} (.+)$/gm)].map((match) => anchor(match[1] ?? ""));

/** Links of a page that lead to no file, or to no heading of it. */
function brokenLinks(page: string): string[] {
  const text = readFileSync(join(root, page), "utf8");
  const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g), ...text.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? "");
  return targets.filter((target) => {
    if (/^[a-z]+:/.test(target)) return false;
    const [path = "", fragment] = target.split("#");
    const file = path ? join(dirname(page), path) : page;
    if (!existsSync(join(root, file))) return true;
    return fragment !== undefined && !anchorsOf(readFileSync(join(root, file), "utf8")).includes(fragment);
  });
}

describe("documentation", () => {
  test.each([...madeFiles])("%s is what the source makes of it (bun run docs makes it anew)", (file) => {
    expect(currentText(file)).toBe(freshText(file));
  });

  test.each(pages)("every link of %s leads somewhere", (page) => {
    expect(brokenLinks(page)).toEqual([]);
  });
});
