// init and uninstall: place holder of the command family until it is written.
import type { Command } from "commander";
export function registerInit(_program: Command): void {}
export async function doctorClis(): Promise<{ name: string; ok: boolean; detail: string; fix?: string }[]> {
  return [];
}
