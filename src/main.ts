#!/usr/bin/env bun
// The one entry: argv to mode. A mode is imported only when it is asked for, so that none pays for another; but for the hook, which runs most often: its
// own import would cost it a quarter of a millisecond, each time.
import { hook } from "./modes/hook.ts";

function main(args: string[]): unknown {
  const [mode, next] = args;
  const help = args.includes("--help") || args.includes("-h");
  if (mode === "hook" && !help) return hook(args.slice(1));
  if (mode === "mcp" && args.length === 1) return import("./modes/mcp.ts").then(({ mcp }) => mcp());
  if (mode === "broker" && next === "run" && args.length === 2) return import("./modes/serve.ts").then(({ serve }) => serve());
  // Without the command library, which costs more than the whole answer: this stands in prompts and status lines.
  if (mode === "inbox" && next === "--count" && args.length === 2) return import("./modes/cli/count.ts").then(({ count }) => count());
  return import("./modes/cli/index.ts").then(({ cli }) => cli(args));
}

main(process.argv.slice(2));
