// Codex's app-server control socket: a turn with the messages as untrusted context starts in an idle thread and joins a running one. Only threads that such a
// server holds can be reached; `codex exec` and terminals without the daemon are processes of their own and get their messages by hooks.
import { lstatSync, readFileSync, realpathSync } from "node:fs";
import type { NativeChannel, NativeFrame, NativeOutcome, SessionView } from "../broker/ports.ts";
import { pushedInput } from "./codex.ts";
import { asObject } from "./payload.ts";
import { connectJson } from "./websocket.ts";

const knownHostsMax = 100;

/**
 * The channel. Nothing of it is stored: each push is a connection of its own. With `resume` (config.json's codexResume) a thread that the server does not
 * hold any more is loaded first; its turn then runs with nobody watching, so that is the user's to allow. A push may take `pushMsMax` ms.
 */
export function codexServer(version: string, resume = false, pushMsMax = 5_000): NativeChannel {
  const hosts = new Map<string, string | null>();
  /** Where the server of a process listens as its arguments say (`unix://` alone is the default place); null for other processes. Asked once a process. */
  function listensAt(session: SessionView): string | null {
    const key = `${session.hostPid} ${session.hostStart}`;
    if (!hosts.has(key)) {
      if (hosts.size > knownHostsMax) hosts.clear();
      hosts.set(key, listenArgument(hostArguments(session.hostPid)));
    }
    return hosts.get(key) ?? null;
  }
  function socketOf(session: SessionView): string | null {
    const at = listensAt(session);
    if (at === null) return null;
    const path = at === "" ? defaultSocket(session) : at;
    return path !== null && ownSocket(path) ? path : null;
  }
  return {
    available: (session) => socketOf(session) !== null,
    check: () => "Codex sessions have no socket of their own",
    push(session, frame, report) {
      const path = socketOf(session);
      if (path === null) return report({ kind: "failed", reason: "no app-server of Codex holds this session" });
      void startTurn(path, { version, resume, msMax: pushMsMax }, session.cliSessionId, frame).then(
        (outcome) => outcome && report(outcome),
      );
    },
  };
}

function hostArguments(pid: number): string[] {
  try {
    if (process.platform === "linux") return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
    return Bun.spawnSync(["ps", "-o", "args=", "-p", String(pid)])
      .stdout.toString()
      .trim()
      .split(" ");
  } catch {
    return [];
  }
}

/** The path behind `app-server … --listen unix://`; empty for the default place. */
export function listenArgument(args: readonly string[]): string | null {
  if (!args.includes("app-server")) return null;
  const at = args.indexOf("--listen");
  const value = at >= 0 ? args[at + 1] : args.find((a) => a.startsWith("--listen="))?.slice("--listen=".length);
  return value?.startsWith("unix://") ? value.slice("unix://".length) : null;
}

/** The control socket of the Codex home that the rollout lies in. */
function defaultSocket(session: SessionView): string | null {
  const match = /^(\/.*)\/sessions\/\d{4}\/\d\d\/\d\d\/rollout-[^/]+$/.exec(session.transcriptPath ?? "");
  return match ? `${match[1]}/app-server-control/app-server-control.sock` : null;
}

function ownSocket(path: string): boolean {
  try {
    const stats = lstatSync(realpathSync(path));
    return stats.isSocket() && stats.uid === process.getuid?.();
  } catch {
    return false;
  }
}

type How = { version: string; resume: boolean; msMax: number };
type Call = { method: string; params: object };

/** Null when the server took the turn. Never rejects. */
async function startTurn(path: string, how: How, threadId: string, frame: NativeFrame): Promise<NativeOutcome | null> {
  const { promise: late, resolve: lateNow } = Promise.withResolvers<NativeOutcome>();
  const end = new AbortController();
  const timer = setTimeout(() => {
    lateNow({ kind: "failed", reason: "the app-server of Codex does not answer" });
    end.abort();
  }, how.msMax);
  const clientInfo = { name: "renn", title: "renn", version: how.version };
  const turn: Call = {
    method: "turn/start",
    params: {
      threadId,
      input: [{ type: "text", text: pushedInput(frame.ids) }],
      additionalContext: { renn: { kind: "untrusted", value: frame.text } },
    },
  };
  const load: Call = { method: "thread/resume", params: { threadId, excludeTurns: true } };
  const calls = [{ method: "initialize", params: { clientInfo, capabilities: { experimentalApi: true } } }, turn];
  const work = talk(path, calls, how.resume ? [load, turn] : [], end.signal).catch(
    (error): NativeOutcome => ({ kind: "failed", reason: String(error instanceof Error ? error.message : error).slice(0, 300) }),
  );
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** Makes the calls one after the other on one connection; when the last says that there is no such thread, `otherwise` too. Throws with the first refusal. */
async function talk(path: string, calls: Call[], otherwise: Call[], until: AbortSignal): Promise<null> {
  let answer = Promise.withResolvers<unknown>();
  const socket = await connectJson(
    realpathSync(path),
    (message) => {
      const frame = asObject(message);
      if (typeof frame?.id === "number" && frame.method === undefined) answer.resolve(frame);
    },
    () => {
      answer.promise.catch(() => {});
      answer.reject(new Error("the app-server of Codex closed the connection"));
    },
    until,
  );
  try {
    const left = [...calls];
    let instead = otherwise;
    for (let id = 0, call = left.shift(); call; id++, call = left.shift()) {
      answer = Promise.withResolvers<unknown>();
      socket.send({ id, ...call });
      const error = asObject(asObject(await answer.promise)?.error);
      const reason = String(error?.message);
      if (error && instead.length && /not found/.test(reason)) {
        left.push(...instead);
        instead = [];
      } else if (error) throw new Error(`${call.method}: ${reason}`);
      if (call.method === "initialize") socket.send({ method: "initialized" });
    }
    return null;
  } finally {
    socket.close();
  }
}
