// What hook tests share: a scripted broker in a home of its own, and hooks run as processes.
import { existsSync, readFileSync, rmSync } from "node:fs";
import { rennCommand } from "../binary.ts";
import { emptyHome, fakeBroker, type Line } from "../fake-broker.ts";

export type Answer = { texts?: string[]; notifications?: object[]; more?: number; block?: boolean; intro?: string };
export type HookRun = { out: string; err: string; status: number; ms: number };

/** A home whose broker gives every `hook` request the same answer; `lines` are the requests as they came. */
export function hookWorld(answer: Answer = {}) {
  const home = emptyHome();
  const lines: Line[] = [];
  const broker = fakeBroker(home, (line, reply) => {
    lines.push(line);
    const payload = { handle: "x", texts: [], notifications: [], more: 0, block: false, ...answer };
    reply({ id: line.id, ok: true, result: line.type === "hook" ? payload : { handle: "x" } });
  });
  return {
    home,
    lines,
    chunks: broker.chunks,
    async run(args: string[], input: string | object, env: Record<string, string> = {}) {
      const [heard, read] = [lines.length, broker.chunks.length];
      return runHook(home.home, args, input, env, 5, () => {
        lines.length = heard;
        broker.chunks.length = read;
      });
    },
    log: () => (existsSync(home.hookLog) ? readFileSync(home.hookLog, "utf8") : ""),
    end() {
      broker.stop();
      home.remove();
    },
  };
}

const busy = "no answer within";

/**
 * Runs `renn hook …`; `env` is all of the environment but PATH. A machine that is too busy for the hook's own deadline is tried again, since that the
 * deadline holds is a test of its own (`tries: 1`).
 */
export async function runHook(
  home: string,
  args: string[],
  input: string | object,
  env: Record<string, string> = {},
  tries = 5,
  again = () => {},
): Promise<HookRun> {
  const run = await once(home, args, input, env);
  const log = `${home}/hook.log`;
  if (tries <= 1 || !existsSync(log) || !readFileSync(log, "utf8").includes(busy)) return run;
  rmSync(log);
  again();
  return runHook(home, args, input, env, tries - 1, again);
}

async function once(home: string, args: string[], input: string | object, env: Record<string, string>): Promise<HookRun> {
  const began = performance.now();
  const child = Bun.spawn([...rennCommand(), "hook", ...args], {
    cwd: "/",
    env: { PATH: process.env.PATH ?? "", RENN_HOME: home, ...env },
    stdin: Buffer.from(typeof input === "string" ? input : JSON.stringify(input)),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err, status] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited]);
  return { out, err, status, ms: performance.now() - began };
}

/** Payloads as the CLIs write them. */
export const payloads = {
  claude: (event: string, more: object = {}) => ({
    session_id: "c3349afd-0000-4000-8000-000000000000",
    transcript_path: "/h/.claude/projects/-tmp-proj/c3349afd-0000-4000-8000-000000000000.jsonl",
    cwd: "/tmp/proj",
    hook_event_name: event,
    ...more,
  }),
  codex: (event: string, more: object = {}) => ({
    session_id: "019a0000-0000-7000-8000-000000000000",
    transcript_path: "/h/.codex/sessions/2026/12/01/rollout-2026-12-01T15-22-44-019a0000-0000-7000-8000-000000000000.jsonl",
    cwd: "/tmp/proj",
    hook_event_name: event,
    permission_mode: "bypassPermissions",
    ...more,
  }),
  gemini: (event: string, more: object = {}) => ({
    session_id: "5c1f0000-0000-4000-8000-000000000000",
    transcript_path: "/h/.gemini/tmp/w/chats/session-2026-12-01T15-22-5c1f0000.jsonl",
    cwd: "/tmp/proj",
    hook_event_name: event,
    timestamp: "2026-12-01T15:22:44.548Z",
    ...more,
  }),
  zcode: (event: string, more: object = {}) => ({
    sessionId: "z1",
    session_id: "z1",
    cwd: "/tmp/proj",
    hookEventName: event,
    hook_event_name: event,
    ...more,
  }),
};
