// `renn hook claude wake`: wakes an idle Claude Code that has no peer socket. It runs beside the session as an asynchronous hook (asyncRewake) from its start
// and each turn end on; when it ends with status 2, the session begins a turn, and the prompt hook of that turn hands over what waits. It says nothing of the
// messages itself, so it has nothing to prove. It ends without a word when a turn begins by itself, when the session ends, and where there is a better way.

import { Client, type ClientEvent } from "../../client.ts";
import { cliOf } from "../../clis/index.ts";
import { parseObject } from "../../clis/payload.ts";
import { ancestors } from "./ancestors.ts";

/** The hook beside us, which reports the session and takes what waits already, comes first. */
const headStartMs = 1_500;
const aliveEveryMs = 5_000;

/** Waits for mail; ends the process with status 2 to wake the session, else 0. */
export async function wake(client: string): Promise<never> {
  try {
    // Newer versions have the socket; a run that ends with its answer is not idle, ever.
    const idle = client === "claude" && !process.env.CLAUDE_CODE_MESSAGING_SOCKET && process.env.CLAUDE_CODE_ENTRYPOINT !== "sdk-cli";
    if (idle && (await mailComes())) {
      await Bun.write(Bun.stderr, "Messages from other agents wait on renn.\n");
      process.exit(2);
    }
  } catch {
    // Without a broker nobody is woken.
  }
  process.exit(0);
}

async function mailComes(): Promise<boolean> {
  const payload = parseObject(await Bun.stdin.text());
  const side = cliOf("claude")?.hook;
  const name = typeof payload?.hook_event_name === "string" ? payload.hook_event_name : undefined;
  const input = payload && side?.parse(payload, name, process.env);
  const host = side?.host(ancestors(process.ppid, side.program), process.env);
  if (!input || !host) return false;
  await Bun.sleep(headStartMs);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const bus = await Client.connect({ onEvent: (event) => hear(event), onClose: () => resolve(false) });
  const { handle } = await bus.call("register", { clientKind: "hook", client: "claude", sessionHint: input.sessionId });
  function hear({ event, payload: news }: ClientEvent): void {
    if (event !== "watch") return;
    if (news.kind === "presence" && news.presence !== "idle") resolve(false);
    if (news.kind === "message") void look();
  }
  async function look(): Promise<void> {
    const [me, inbox] = await Promise.all([bus.call("whoami", {}), bus.call("inbox", { unreadOnly: true })]);
    if (me.presence !== "idle") resolve(false);
    else if (inbox.threads.some((thread) => thread.messages.some((m) => m.state === "queued" && m.mode === "push"))) resolve(true);
  }
  await bus.call("watch", { handle });
  await look();
  setInterval(() => isGone(host.pid) && resolve(false), aliveEveryMs);
  return promise;
}

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
}
