// Any program that can run `renn hook other EVENT`, or hold a listening connection. docs/clis.md says how.
import type { ProofReader } from "../broker/ports.ts";
import type { Cli } from "./cli.ts";
import { other as hook } from "./other-shape.ts";
import { idsOf, parseJson } from "./payload.ts";

const valuesMax = 10_000;

/** The tag at the start of a line in any string of a new row; a row that is no JSON is a string itself. */
const proofReader = (): ProofReader => (row) => {
  if (!row.includes("[murmur m")) return [];
  const value = mayBeJson(row.trim()) ? parseJson(row) : undefined;
  return idsOf(value === undefined ? [row] : strings(value));
};

/** Whether a row begins and ends as JSON with a text in it does: an exception for each row that is none would cost more than all the rest. */
function mayBeJson(row: string): boolean {
  const ends = `${row[0]}${row.at(-1)}`;
  return ends === "{}" || ends === '""' || (ends === "[]" && !row.startsWith("[murmur m"));
}

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
