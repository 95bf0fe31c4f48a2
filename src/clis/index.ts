// Every CLI that renn knows, one line each.
import { claude } from "./claude.ts";
import type { Cli } from "./cli.ts";
import { codex } from "./codex.ts";
import { gemini } from "./gemini.ts";
import { hummin } from "./hummin.ts";
import { opencode } from "./opencode.ts";
import { other } from "./other.ts";
import { zcode } from "./zcode.ts";

export const clis: readonly Cli[] = [claude, codex, gemini, zcode, opencode, hummin, other];

/** The CLI of that name. */
export function cliOf(name: string | undefined): Cli | undefined {
  for (const cli of clis) if (cli.client === name) return cli;
  return undefined;
}
