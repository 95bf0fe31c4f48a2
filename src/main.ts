#!/usr/bin/env bun
// The one entry: argv to mode. A mode is imported only when it is asked for, so that none pays for another; but for the hook, which runs most often and
// costs the others nothing that could be measured, while its own import would cost it a tenth of an empty program.
import { hook } from "./modes/hook.ts";

async function main(args: string[]): Promise<unknown> {
  const [mode, next] = args;
  const help = args.includes("--help") || args.includes("-h");
  if (mode === "hook" && !help) return hook(args.slice(1));
  if (mode === "mcp" && args.length === 1) return (await import("./modes/mcp.ts")).mcp();
  if (mode === "broker" && next === "run" && args.length === 2) return (await import("./modes/serve.ts")).serve();
  // Without the command library, which costs more than the whole answer: this stands in prompts and status lines.
  if (mode === "inbox" && next === "--count" && args.length === 2) return (await import("./modes/cli/count.ts")).count();
  return (await import("./modes/cli/index.ts")).cli(args);
}

void main(process.argv.slice(2));
