// A broker that has nothing to do: its memory, its wake-ups, its share of a core.
import { readdirSync, readFileSync } from "node:fs";
import { Peer, startOf } from "./peer.ts";
import { type Broker, memory, type Scratch, startBroker } from "./programs.ts";
import { known, mib, type Row, within } from "./table.ts";

const settleMs = 30_000;

/** Times that each thread of a process gave up the core of its own will: each is the end of a wake-up. */
function wakeups(pid: number): Map<string, number> {
  return new Map(
    readdirSync(`/proc/${pid}/task`).map((task) => {
      const status = readFileSync(`/proc/${pid}/task/${task}/status`, "utf8");
      return [task, Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(status)?.[1] ?? 0)];
    }),
  );
}

/** CPU time of a process in ms. The kernel counts it in ticks of 10 ms. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "latin1").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

async function watched(pid: number, seconds: number): Promise<{ wakeups: number; cpuShare: number }> {
  const before = { wakeups: wakeups(pid), cpu: cpuMs(pid) };
  await Bun.sleep(seconds * 1000);
  // A thread that has ended meanwhile woke to do so; what it did before is not known any more, and it will not wake again.
  let woken = 0;
  for (const [task, count] of wakeups(pid)) woken += count - (before.wakeups.get(task) ?? 0);
  return { wakeups: woken, cpuShare: (cpuMs(pid) - before.cpu) / (seconds * 1000) };
}

/** Twenty sessions as hooks leave them: each with a process that lives, and no connection. */
async function sessions(broker: Broker): Promise<() => void> {
  const hosts = Array.from({ length: 20 }, () => Bun.spawn(["sleep", "3600"]));
  for (const [index, host] of hosts.entries()) {
    const hook = await Peer.connect(broker);
    await hook.call("session", {
      event: "session-start",
      client: "claude",
      cliSessionId: `idle-${index}`,
      host: { hostPid: host.pid, hostStart: await startOf(host.pid) },
    });
    hook.end();
  }
  return () => {
    for (const host of hosts) host.kill();
  };
}

/** Memory and wake-ups of an idle broker, with nobody, with twenty sessions and with a thousand connections. `seconds` is how long each is watched. */
export async function idleRows(scratch: Scratch, built: { floor: string }, seconds: number): Promise<{ rows: Row[]; idleMib: number }> {
  const socket = scratch.path("echo.sock");
  const echo = await scratch.start([built.floor, "echo", socket], socket);
  const broker = await startBroker(scratch);
  // What a start leaves to do is done within seconds.
  await Bun.sleep(settleMs);
  const idle = memory(broker.pid);
  const bare = memory(echo.pid).resident;
  await echo.stop();
  const quiet = await watched(broker.pid, seconds);
  const connections: Peer[] = [];
  for (let index = 0; index < 1000; index++) {
    const peer = await Peer.connect(broker);
    await peer.call("register", { clientKind: "adapter", handle: `connected-${index}` });
    connections.push(peer);
  }
  const connected = memory(broker.pid).resident;
  for (const peer of connections) peer.end();
  await broker.stop();

  const second = await startBroker(scratch);
  const end = await sessions(second);
  await Bun.sleep(settleMs);
  const busy = await watched(second.pid, seconds);
  end();
  await second.stop();
  const rows = [
    within("memory, idle", mib(idle.resident), idle.resident, 45, "≤ 45 MiB"),
    known("of it the process's own; the rest are pages of the program file", mib(idle.anonymous)),
    known("memory of a bare program that listens on a socket", mib(bare)),
    within("memory, 1,000 connections, above idle", mib(connected - idle.resident), connected - idle.resident, 30, "≤ 30 MiB"),
    within(`idle, no session: wake-ups in ${seconds} s`, String(quiet.wakeups), quiet.wakeups, 0, "0"),
    within(
      `idle, 20 sessions: share of a core over ${seconds} s`,
      `${(busy.cpuShare * 100).toFixed(2)} %`,
      busy.cpuShare * 100,
      0.2,
      "≤ 0.2 %",
    ),
  ];
  return { rows, idleMib: idle.resident };
}
