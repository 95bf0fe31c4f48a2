// opencode: no shell hooks; a plugin of ours (src/plugins/opencode.js) runs inside it, holds a listening connection for each session and confirms what the
// model was given. `renn hook opencode` takes the plain shape of other.ts.
import type { Cli } from "./cli.ts";
import type { Edit, SetupPlace } from "./edits.ts";
import { other } from "./other-shape.ts";

function edits(place: SetupPlace): Edit[] {
  const config = place.project
    ? [`${place.project}/opencode.json`, `${place.project}/opencode.jsonc`]
    : [`${place.folder}/opencode.json`, `${place.folder}/opencode.jsonc`];
  const environment = Object.keys(place.env).length ? { environment: place.env } : {};
  const server = { type: "local", command: [place.program, "mcp"], enabled: true, ...environment };
  return [
    {
      kind: "plugin",
      file: place.project ? `${place.project}/.opencode/plugins/renn.js` : `${place.folder}/plugins/renn.js`,
      name: "opencode",
    },
    { kind: "value", file: config, path: ["mcp", "renn"], value: server },
  ];
}

export const opencode: Cli = {
  client: "opencode",
  facts: {
    conversations: "many",
    hookBudget: { unit: "bytes", max: 32_000 },
    proof: "adapter",
    continuesAtStop: false,
    best: "at once, idle or busy, through the plugin that renn init installs",
  },
  hook: other,
  setup: {
    folder: { home: ".config/opencode", env: "OPENCODE_CONFIG_DIR" },
    binary: "opencode",
    after: "open sessions join when opencode is restarted",
    edits,
  },
};
