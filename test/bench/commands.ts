// Whole processes: what a person or a CLI waits for when it runs renn once. Programs take turns, so that a busy moment hits them all, in an order
// that is shuffled for each round, since each finds the processor's caches as the one before it left them.
import { writeFileSync } from "node:fs";
import { random } from "../sim/random.ts";
import { median, quantile } from "./lines.ts";
import { Peer } from "./peer.ts";
import { type Broker, type Scratch, startBroker } from "./programs.ts";
import { atLeast, atMost, known, ms, type Row } from "./table.ts";

type Timed = { name: string; command: string[]; input?: string; before?: () => Promise<unknown>; times: number[]; cpu: number[] };

const session = "00000000-0000-4000-8000-000000000001";

function hookInput(event: string, transcript: string): string {
  const tool =
    event === "PostToolUse" ? { tool_name: "Bash", tool_input: { command: "ls" }, tool_response: { stdout: "", stderr: "" } } : {};
  const prompt = event === "UserPromptSubmit" ? { prompt: "Go on." } : {};
  return JSON.stringify({
    session_id: session,
    transcript_path: transcript,
    cwd: "/",
    permission_mode: "default",
    hook_event_name: event,
    ...prompt,
    ...tool,
  });
}

function shuffled<T>(list: readonly T[], chance: () => number): T[] {
  return list
    .map((item) => ({ item, at: chance() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

async function time(list: Timed[], env: Record<string, string>, rounds: number): Promise<void> {
  const chance = random(1);
  for (let round = -3; round < rounds; round++) {
    for (const timed of shuffled(list, chance)) {
      await timed.before?.();
      const stdin = timed.input === undefined ? "ignore" : Buffer.from(timed.input);
      const started = performance.now();
      const { exitCode, stderr, resourceUsage } = Bun.spawnSync(timed.command, {
        env: { ...process.env, ...env },
        stdin,
        stdout: "pipe",
        stderr: "pipe",
        cwd: "/",
      });
      const took = performance.now() - started;
      if (exitCode !== 0) throw new Error(`${timed.command.join(" ")}: exit ${exitCode}: ${stderr}`);
      if (round < 0) continue;
      timed.times.push(took);
      timed.cpu.push(Number(resourceUsage.cpuTime.total) / 1000);
    }
  }
}

/** Makes the session that the hooks speak for: its host is this process, under the name that a hook looks for above itself. */
async function programs(renn: string, empty: string, broker: Broker, transcript: string): Promise<Timed[]> {
  writeFileSync("/proc/self/comm", "claude");
  const owner = await Peer.connect(broker);
  await owner.call("register", { clientKind: "cli", owner: true });
  const hook = (event: string): Omit<Timed, "name" | "times" | "cpu"> => ({
    command: [renn, "hook", "claude"],
    input: hookInput(event, transcript),
  });
  const first = Bun.spawnSync([renn, "hook", "claude"], {
    env: { ...process.env, RENN_HOME: broker.home },
    stdin: Buffer.from(hookInput("SessionStart", transcript)),
    stdout: "pipe",
  });
  if (first.stdout.length === 0) throw new Error("the session-start hook said nothing");
  const { peers } = await owner.call("status", {});
  const handle = peers.find((peer) => peer.client === "claude")?.handle;
  if (!handle) throw new Error("the session-start hook made no session");
  const recipient = await Peer.connect(broker);
  await recipient.call("register", { clientKind: "adapter", handle: "recipient" });
  let sent = 0;
  const send = () => owner.call("send", { threadId: null, to: [handle], body: `Message ${++sent}: a line as people write them.` });
  return [
    { name: "empty", command: [empty], times: [], cpu: [] },
    { name: "node", command: ["node", "-e", "0"], times: [], cpu: [] },
    { name: "prompt", ...hook("UserPromptSubmit"), times: [], cpu: [] },
    { name: "post-tool", ...hook("PostToolUse"), times: [], cpu: [] },
    { name: "waiting", ...hook("UserPromptSubmit"), before: send, times: [], cpu: [] },
    { name: "status", command: [renn, "status"], times: [], cpu: [] },
    { name: "send", command: [renn, "send", "recipient", "Hello there."], before: () => owner.call("whoami", {}), times: [], cpu: [] },
  ];
}

/** Times hooks and commands against an empty program and node. */
export async function commandRows(scratch: Scratch, built: { renn: string; empty: string }, rounds: number): Promise<Row[]> {
  const broker = await startBroker(scratch);
  const transcript = scratch.path("transcript.jsonl");
  writeFileSync(transcript, "");
  const list = await programs(built.renn, built.empty, broker, transcript);
  await time(list, { RENN_HOME: broker.home }, rounds);
  await broker.stop();
  const times = (name: string): number[] => list.find((timed) => timed.name === name)?.times ?? [];
  const cpu = (name: string): number => median(list.find((timed) => timed.name === name)?.cpu ?? []);
  const empty = median(times("empty"));
  const node = median(times("node"));
  const rows: Row[] = [];
  const hooks = {
    prompt: "`renn hook`, prompt, nothing waiting",
    "post-tool": "`renn hook`, post-tool, nothing waiting",
    waiting: "`renn hook`, prompt, one message waiting",
  };
  for (const [name, what] of Object.entries(hooks)) {
    const p50 = median(times(name));
    const p95 = quantile(times(name), 0.95);
    rows.push(atMost(`${what}, p50`, ms(p50), `empty program ${ms(empty)}`, p50 / empty, 1.5));
    rows.push(atMost(`${what}, p95`, ms(p95), `empty program ${ms(empty)}`, p95 / empty, 3));
    rows.push(known(`${what}, CPU time, p50`, ms(cpu(name)), `empty program ${ms(cpu("empty"))}`, cpu(name) / cpu("empty")));
    rows.push(atLeast(`${what}: \`node -e 0\` takes so many times as long`, ms(p50), `node ${ms(node)}`, node / p50, 8));
  }
  for (const name of ["status", "send"]) {
    const p50 = median(times(name));
    rows.push(atMost(`\`renn ${name}\`, p50`, ms(p50), `empty program ${ms(empty)}`, p50 / empty, 4));
    rows.push(known(`\`renn ${name}\`, CPU time, p50`, ms(cpu(name)), `empty program ${ms(cpu("empty"))}`, cpu(name) / cpu("empty")));
  }
  return rows;
}
