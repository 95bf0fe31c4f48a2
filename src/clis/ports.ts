// What the broker is given of the CLIs: their facts, proof readers and native channels.
import type { CliPort } from "../broker/ports.ts";
import { clis } from "./index.ts";

/** One port for each CLI. */
export function cliPorts(): CliPort[] {
  return clis.map((cli) => ({
    client: cli.client,
    ...cli.facts,
    ...(cli.proofReader && { proofReader: cli.proofReader }),
  }));
}
