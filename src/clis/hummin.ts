// Hummin (and pi, which it is made of): its own hooks cannot inject, so an extension of ours (src/plugins/hummin.ts) runs inside it. `renn hook hummin`
// takes the plain shape of other.ts.
import type { ProofReader } from "../broker/ports.ts";
import type { Cli } from "./cli.ts";
import type { Edit, SetupPlace } from "./edits.ts";
import { other } from "./other-shape.ts";
import { contentTexts, idsOf, parseRow } from "./payload.ts";

/** The row that our extension's message becomes. */
const proofReader = (): ProofReader => (row) => {
  if (!row.includes("[murmur m")) return [];
  const parsed = parseRow(row);
  if (parsed?.type !== "custom_message" || parsed.customType !== "renn") return [];
  return idsOf(contentTexts(parsed.content));
};

function edits(place: SetupPlace): Edit[] {
  const folder = place.project ? `${place.project}/.hummin` : place.folder;
  const env = Object.keys(place.env).length ? { env: place.env } : {};
  // pi keeps its servers in a file of their own, Hummin in its settings. pi hides tools behind scripts unless they are named as direct.
  const isPi = /\/\.pi\//.test(`${folder}/`);
  const servers = isPi ? `${folder}/mcp.json` : `${folder}/settings.json`;
  return [
    { kind: "plugin", file: `${folder}/extensions/renn.ts`, name: "hummin" },
    {
      kind: "value",
      file: servers,
      path: ["mcpServers", "renn"],
      value: { command: place.program, args: ["mcp"], ...env, ...(isPi && { exposure: "direct" }) },
    },
  ];
}

export const hummin: Cli = {
  client: "hummin",
  facts: {
    conversations: "one",
    hookBudget: { unit: "bytes", max: 32_000 },
    proof: "transcript",
    continuesAtStop: false,
    best: "at once, idle or busy, through the extension that renn init installs",
  },
  proofReader,
  hook: other,
  setup: {
    folder: { home: ".hummin/agent", sign: ".hummin" },
    binary: "hummin",
    after: "run with pi 1.6.0, which Hummin is made of, not with Hummin itself (pi: --client hummin --config-dir ~/.pi/agent)",
    edits,
  },
};
