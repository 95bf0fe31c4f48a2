// Claude Code, offline.
import type { Cli } from "../session.ts";

const key = "sk-ant-fake-000000000000000000000000";

export const claude: Cli = {
  name: "Claude Code 2.1.332",
  client: "claude",
  wakes: true,
  joinedBy: [".claude/settings.json", ".claude.json"],
  clear: "/clear",
  rename: "/rename",
  prepare(world, folders) {
    world.write(".claude/settings.json", { permissions: { defaultMode: "default", allow: ["Bash", "mcp__renn"] } });
    world.write(".claude.json", {
      hasCompletedOnboarding: true,
      lastOnboardingVersion: "99.0.0",
      theme: "dark",
      hasResetAutoModeOptInForDefaultOffer: true,
      customApiKeyResponses: { approved: [key.slice(-20)], rejected: [] },
      projects: Object.fromEntries(folders.map((folder) => [folder, { hasTrustDialogAccepted: true }])),
    });
  },
  env: (model) => ({
    ANTHROPIC_BASE_URL: model.url,
    ANTHROPIC_API_KEY: key,
    DISABLE_AUTOUPDATER: "1",
    DISABLE_TELEMETRY: "1",
    DISABLE_ERROR_REPORTING: "1",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  }),
  headless: (prompt, resume) => ["claude", "-p", prompt, ...(resume ? ["--continue"] : [])],
  tui: (resume) => ["claude", ...(resume ? ["--continue"] : [])],
  ready: /\? for shortcuts|manual mode|❯ /,
  tool: (name) => `mcp__renn__${name}`,
  shell: (command) => ({ tool: "Bash", input: { command, description: "run it" } }),
  subagent: (prompt) => [
    { tool: "Agent", input: { description: "do it", prompt, subagent_type: "general-purpose", run_in_background: false } },
  ],
};
