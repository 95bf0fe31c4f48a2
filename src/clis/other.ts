// Any program that can run `renn hook other EVENT`, or hold a listening connection. docs/clis.md says how.
import type { ProofReader } from "../broker/ports.ts";
import { tagIds } from "../protocol/text.ts";
import type { Cli } from "./cli.ts";
import { other as hook } from "./other-shape.ts";

const valuesMax = 10_000;

/** The tag at the start of a line in any string of a new row; a row that is no JSON is a string itself. */
const proofReader = (): ProofReader => (row) => {
  if (!row.includes("[murmur m")) return [];
  let value: unknown;
  try {
    value = JSON.parse(row);
  } catch {
    return tagIds(row);
  }
  return strings(value).flatMap(tagIds);
};

/** Every string in a JSON value, nested ones too; without recursion, since the row is another program's. */
function strings(value: unknown): string[] {
  const found: string[] = [];
  const left: unknown[] = [value];
  for (let n = 0; left.length && n < valuesMax; n++) {
    const next = left.pop();
    if (typeof next === "string") found.push(next);
    else if (typeof next === "object" && next !== null) for (const child of Object.values(next)) left.push(child);
  }
  return found;
}

export const other: Cli = {
  client: "other",
  facts: {
    conversations: "unknown",
    hookBudget: { unit: "utf16", max: 9500 },
    proof: "transcript",
    continuesAtStop: true,
    best: "when it next runs `renn hook other`, or at once while it holds a listening connection",
  },
  proofReader,
  hook,
};
