// Codex, offline. Its terminals run their agent in an app-server, as they do with the daemon; this one is started by the scenario so that nothing stays behind.
import type { Cli } from "../session.ts";
import type { World } from "../world.ts";

export const codex: Cli = {
  name: "Codex 0.171.0",
  client: "codex",
  wakes: true,
  joinedBy: [".codex/config.toml", ".codex/hooks.json"],
  rename: "/rename",
  prepare(world, folders) {
    const trusted = folders.map((folder) => `[projects.${JSON.stringify(folder)}]\ntrust_level = "trusted"\n`).join("\n");
    world.write(
      ".codex/config.toml",
      `# The user's own settings.
model = "fake-model"
model_provider = "fake"
check_for_update_on_startup = false
approval_policy = "never"
sandbox_mode = "danger-full-access"

[features]
daemon_auto_start = false

[analytics]
enabled = false

[feedback]
enabled = false

[model_providers.fake]
name = "fake"
base_url = "http://127.0.0.1:1/v1"
env_key = "FAKE_API_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0

${trusted}`,
    );
  },
  env: () => ({ FAKE_API_KEY: "fake" }),
  headless: (prompt, resume, model) => [
    "codex",
    "exec",
    ...modelOption(model.url),
    "--skip-git-repo-check",
    ...(resume ? ["resume", "--last"] : []),
    prompt,
  ],
  tui: (resume, folder, world) => ["codex", "-C", folder, ...(resume ? ["resume", "--last"] : []), "--remote", `unix://${socketIn(world)}`],
  host: (model, world) => ({
    argv: ["codex", "app-server", "--listen", `unix://${socketIn(world)}`, ...modelOption(model.url)],
    socket: socketIn(world),
  }),
  ready: /›|send/,
  tool: (name) => `mcp__renn/${name}`,
  shell: (command) => ({ tool: "exec_command", input: { cmd: command, yield_time_ms: 30_000 } }),
  subagent: (prompt) => [
    { tool: "multi_agent_v1/spawn_agent", input: { message: prompt } },
    (request) => ({ tool: "multi_agent_v1/wait_agent", input: { targets: [agentId(request)], timeout_ms: 60_000 } }),
  ],
};

function socketIn(world: World): string {
  return `${world.root}/app.sock`;
}

/** The option that leads a Codex to a model. */
export function modelOption(url: string): string[] {
  return ["-c", `model_providers.fake.base_url="${url}/v1"`];
}

function agentId(request: string): string {
  return /\\"agent_id\\":\\"([0-9a-f-]{36})/.exec(request)?.[1] ?? "";
}
