// pi, which Hummin is made of, offline; Hummin itself cannot be had.
import type { Cli } from "../session.ts";

export const pi: Cli = {
  name: "pi 1.6.0 (for Hummin)",
  client: "hummin",
  wakes: true,
  joinedBy: [".pi/agent/mcp.json", ".pi/agent/extensions/renn.ts"],
  clear: "/new",
  rename: "/name",
  configDir: ".pi/agent",
  prepare(world) {
    world.write(".pi/agent/settings.json", { defaultProvider: "fake", defaultModel: "fake-model", quietStartup: true });
    world.write(
      ".pi/agent/extensions/fake-model.js",
      `// The stand-in model.
export default (pi) => {
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  const model = { type: "chat", id: "fake-model", name: "Fake", reasoning: false, input: ["text"], cost, contextWindow: 100000, maxTokens: 4000 };
  pi.registerProvider("fake", { name: "Fake", baseUrl: process.env.FAKE_URL + "/v1", apiKey: "fake", api: "openai-completions", models: [model] });
};
`,
    );
  },
  env: (model) => ({ FAKE_URL: model.url, PI_OFFLINE: "1", PI_SKIP_VERSION_CHECK: "1", PI_TELEMETRY: "0" }),
  headless: (prompt, resume) => ["pi", ...model, ...(resume ? ["--continue"] : []), "-p", prompt],
  tui: (resume) => ["pi", ...model, ...(resume ? ["--continue"] : [])],
  ready: /fake-model/,
  tool: (name) => `mcp__renn__${name}`,
  shell: (command) => ({ tool: "bash", input: { command } }),
};

const model = ["--provider", "fake", "--model", "fake-model"];
