// Gemini CLI, offline. Nothing wakes it: what comes while it is idle waits for its next prompt.
import type { Cli } from "../session.ts";

export const gemini: Cli = {
  name: "Gemini CLI 0.61.0",
  client: "gemini",
  wakes: false,
  joinedBy: [".gemini/settings.json"],
  clear: "/clear",
  prepare(world) {
    world.write(".gemini/settings.json", {
      general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
      privacy: { usageStatisticsEnabled: false },
      telemetry: { enabled: false },
      security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: false } },
    });
  },
  env: (model) => ({ GEMINI_API_KEY: "fake-key", GOOGLE_GEMINI_BASE_URL: model.url }),
  headless: (prompt, resume) => ["gemini", ...options, ...(resume ? ["--resume", "latest"] : []), "-p", prompt],
  tui: (resume) => ["gemini", ...options, ...(resume ? ["--resume", "latest"] : [])],
  ready: /Type your message/,
  tool: (name) => `mcp_renn_${name}`,
  shell: (command) => ({ tool: "run_shell_command", input: { command, description: "run it" } }),
  subagent: (prompt) => [{ tool: "invoke_agent", input: { agent_name: "generalist", prompt } }],
};

/** All tools run unasked; a named model keeps the router quiet. */
const options = ["-y", "-m", "gemini-2.5-flash"];
