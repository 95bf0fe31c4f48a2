// What CLI sessions do in a simulation: they start, clear, fork, run hooks, write transcripts, are woken and die.
import type { ClientName } from "../../src/protocol/constants.ts";
import type { Actor, Simulation } from "./simulation.ts";

const clients: readonly ClientName[] = ["claude", "claude", "zcode", "codex", "gemini", "opencode", "other"];
const actorsMax = 5;

function newActor(sim: Simulation): Actor {
  const n = sim.actors.length + 1;
  return {
    name: `sess-${n}`,
    client: sim.pick(clients),
    id: `id-${n}`,
    pid: sim.world.system.start(),
    started: false,
    transcript: `/t/${n}`,
    unproven: [],
  };
}

function sessionFields(sim: Simulation, actor: Actor, event: string, more: object = {}): object {
  const host = { hostPid: actor.pid, hostStart: sim.world.system.processStart(actor.pid) ?? "gone" };
  return {
    event,
    client: actor.client,
    cliSessionId: actor.id,
    host,
    transcriptPath: actor.transcript,
    cwd: `/projects/${actor.name}`,
    ...more,
  };
}

/** A run of a CLI's hook: it says what happened and takes what waits. The process may die before it has printed anything. */
function hookRun(sim: Simulation, actor: Actor, event: string, more: object = {}): void {
  const connection = sim.connect(sim.world.system.start(actor.pid));
  const reported = event === "post-tool" ? "prompt" : event;
  const late: number[] = [];
  sim.ask(connection, "session", sessionFields(sim, actor, reported, more));
  if (event !== "session-end") {
    const turn = event === "prompt" || event === "session-start";
    const dies = sim.says(0.1);
    sim.ask(
      connection,
      "hook",
      { event, client: actor.client, ...(event === "stop" && sim.says(0.2) ? { continuing: true } : {}) },
      (frame) => {
        if (!frame) return;
        const { handle, texts, block } = frame.result as { handle: string; texts: string[]; block: boolean };
        const ids = sim.texts(sim.bus.peers.named(handle), texts, turn);
        if (!dies && (event !== "stop" || block)) late.push(...ids);
        actor.unproven.push(...late);
        connection.close();
      },
    );
  }
  actor.started = event !== "session-end";
}

export function sessionStart(sim: Simulation): void {
  const actor = sim.actors.length < actorsMax && sim.says(0.5) ? newActor(sim) : sim.pick(sim.actors);
  if (!actor) return;
  if (!sim.actors.includes(actor)) sim.actors.push(actor);
  const source = actor.started ? sim.pick(["resume", "clear", "compact", "fork", "startup"]) : sim.pick(["startup", "resume"]);
  if (source === "resume" || !sim.world.system.processes.has(actor.pid)) actor.pid = sim.world.system.start();
  if (source === "clear" || source === "fork") {
    actor.id = `${actor.id}x`;
    actor.transcript = `${actor.transcript}x`;
    actor.unproven = [];
  }
  hookRun(sim, actor, "session-start", { source, ...(sim.says(0.3) ? { title: `Title ${Math.floor(sim.chance() * 6)}` } : {}) });
}

export function sessionEvent(sim: Simulation): void {
  const actor = sim.pick(sim.actors.filter((a) => a.started));
  if (!actor) return;
  const event = sim.pick(["prompt", "prompt", "post-tool", "stop", "stop", "session-end"]);
  hookRun(sim, actor, event, sim.says(0.1) ? { title: `Title ${Math.floor(sim.chance() * 6)}` } : {});
}

export function listenAsSession(sim: Simulation): void {
  const actor = sim.pick(sim.actors.filter((a) => a.started));
  if (actor) sim.ask(sim.connect(actor.pid), "session", sessionFields(sim, actor, sim.pick(["session-start", "prompt"]), { listen: true }));
}

export function prove(sim: Simulation): void {
  const actor = sim.pick(sim.actors.filter((a) => a.unproven.length));
  if (!actor) return;
  const ids = actor.unproven.splice(0, 1 + Math.floor(sim.chance() * 3));
  if (sim.says(0.1)) sim.world.system.replace(actor.transcript, "another file");
  if (sim.says(0.9)) sim.world.system.append(actor.transcript, `shown ${ids.join(" ")}`);
}

export function nativeOutcome(sim: Simulation): void {
  const frame = sim.native.frames.shift();
  if (!frame) return;
  const actor = sim.actors.find((a) => a.id === frame.session.cliSessionId);
  if (sim.says(0.6)) actor?.unproven.push(...frame.ids);
  else if (sim.says(0.8)) frame.report({ kind: sim.pick(["refused", "held", "failed"] as const), reason: "simulated" });
}

export function nativeSwitch(sim: Simulation): void {
  sim.native.up = sim.says(0.5);
  sim.native.holding = sim.says(0.2);
}

export function killHost(sim: Simulation): void {
  const actor = sim.pick(sim.actors);
  if (actor) sim.world.system.kill(actor.pid);
}
