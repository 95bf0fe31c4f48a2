// What the broker is given of the CLIs: their facts, proof readers and native channels.
import type { CliPort, NativeChannel } from "../broker/ports.ts";
import type { ClientName } from "../protocol/constants.ts";
import { version } from "../version.ts";
import { claudePeer, type PeerReply } from "./claude-peer.ts";
import { codexServer } from "./codex-server.ts";
import { clis } from "./index.ts";

/**
 * One port for each CLI. `onReply` hears answers that a session gave through its own CLI's messaging; `codexResume` is config.json's.
 */
export function cliPorts(onReply?: PeerReply, codexResume = false): CliPort[] {
  const channels: Partial<Record<ClientName, NativeChannel>> = { claude: claudePeer(onReply), codex: codexServer(version, codexResume) };
  return clis.map((cli) => {
    const native = channels[cli.client];
    return { client: cli.client, ...cli.facts, ...(cli.proofReader && { proofReader: cli.proofReader }), ...(native && { native }) };
  });
}
