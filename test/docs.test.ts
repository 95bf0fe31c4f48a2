// The documentation as a reader meets it: what is made from the source is up to date.
import { expect, test } from "bun:test";
import { currentText, freshText, madeFiles } from "./docs/make.ts";

test.each([...madeFiles])("%s is what the source makes of it (bun run docs makes it anew)", (file) => {
  expect(currentText(file)).toBe(freshText(file));
});
