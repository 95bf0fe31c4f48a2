// opencode, offline. Its plugin package is copied, since it would otherwise be fetched for each new configuration folder.
import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { opencodePlugin } from "../install.ts";
import type { Cli } from "../session.ts";

/** No models but ours: reading those that it has built in costs it seconds at each start. */
const models = join(opencodePlugin, "models.json");

export const opencode: Cli = {
  name: "opencode 1.18.33",
  client: "opencode",
  wakes: true,
  joinedBy: [".config/opencode/opencode.json", ".config/opencode/plugins/renn.js"],
  prepare(world) {
    world.write(".config/opencode/opencode.json", {
      $schema: "https://opencode.ai/config.json",
      autoupdate: false,
      share: "disabled",
      model: "fake/fake-model",
      small_model: "fake/fake-model",
      enabled_providers: ["fake"],
      provider: {
        fake: {
          npm: "@ai-sdk/openai-compatible",
          name: "Fake",
          options: { baseURL: "{env:FAKE_URL}/v1", apiKey: "fake" },
          models: { "fake-model": { name: "Fake", limit: { context: 100_000, output: 4000 } } },
        },
      },
    });
    writeFileSync(models, "{}");
    cpSync(opencodePlugin, join(world.home, ".config/opencode"), { recursive: true });
  },
  env: (model) => ({
    FAKE_URL: model.url,
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    OPENCODE_DISABLE_MODELS_FETCH: "1",
    OPENCODE_MODELS_PATH: models,
    OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
    OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
    npm_config_registry: "http://127.0.0.1:9/",
  }),
  headless: (prompt, resume) => ["opencode", "run", ...(resume ? ["--continue"] : []), prompt.replaceAll(" ", "_")],
  tui: (resume) => ["opencode", ...(resume ? ["--continue"] : [])],
  ready: /Ask anything|ctrl\+p/,
  tool: (name) => `renn_${name}`,
  shell: (command) => ({ tool: "bash", input: { command, description: "run it" } }),
  subagent: (prompt) => [{ tool: "task", input: { description: "do it", prompt, subagent_type: "general" } }],
};
