// Hostile hook input and transcripts: what the CLIs' files make of a payload or a row never throws, never takes long, and gives only what the broker's
// schemas take; and the hook as a process ends well whatever it is fed.
import { Value } from "@sinclair/typebox/value";
import { clis } from "../../src/clis/index.ts";
import { parseObject } from "../../src/clis/payload.ts";
import { requestLines } from "../../src/modes/hook/messages.ts";
import { requests } from "../../src/protocol/schemas.ts";
import { rennCommand } from "../binary.ts";
import { brokerEnv, makeHome } from "../crash/broker.ts";
import { type Chance, hostileBytes, hostileString, hostileValue, mutated, pick } from "./hostile.ts";

const keys = [
  "session_id",
  "sessionId",
  "hook_event_name",
  "hookEventName",
  "transcript_path",
  "cwd",
  "source",
  "prompt",
  "agent_id",
  "permission_mode",
  "stop_hook_active",
  "session_title",
  "title",
  "turn_id",
  "reason",
  "tool_name",
  "type",
  "timestamp",
];
const eventNames = [
  "SessionStart",
  "UserPromptSubmit",
  "PostToolUse",
  "Stop",
  "SessionEnd",
  "BeforeAgent",
  "AfterTool",
  "AfterAgent",
  "SubagentStop",
  "session-start",
  "prompt",
];
const rowKeys = [
  "type",
  "message",
  "content",
  "attachment",
  "origin",
  "isMeta",
  "isSidechain",
  "payload",
  "role",
  "text",
  "prompt",
  "id",
  "kind",
];
const rowWords = [
  "user",
  "assistant",
  "attachment",
  "hook_additional_context",
  "queued_command",
  "peer",
  "gemini",
  "response_item",
  "message",
  "[murmur m12 thread 1",
  "[murmur m99999999999999999999",
  "custom_message",
];
const msMax = 250;

function payload(chance: Chance): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const key of keys) {
    if (chance() < 0.4) continue;
    out[key] =
      chance() < 0.5
        ? hostileValue(chance)
        : pick(chance, [...eventNames, "01234567-89ab-cdef-0123-456789abcdef", "/tmp/x.jsonl", "startup", "clear"]);
  }
  return out;
}

function row(chance: Chance, depth = 0): unknown {
  if (depth > 3 || chance() < 0.3) return chance() < 0.6 ? pick(chance, rowWords) : hostileValue(chance);
  if (chance() < 0.3) return Array.from({ length: Math.floor(chance() * 4) }, () => row(chance, depth + 1));
  return Object.fromEntries(rowKeys.filter(() => chance() < 0.2).map((key) => [key, row(chance, depth + 1)]));
}

function timed<T>(what: string, step: () => T): T {
  const started = performance.now();
  const result = step();
  if (performance.now() - started > msMax) throw new Error(`${what} took ${Math.round(performance.now() - started)} ms`);
  return result;
}

/** Payloads through every CLI's hook side. Returns how many were tried. */
export function fuzzPayloads(count: number, chance: Chance): number {
  for (let n = 0; n < count; n++) {
    const text = chance() < 0.8 ? JSON.stringify(payload(chance)) : mutated(chance, JSON.stringify(payload(chance)));
    const parsed = parseObject(text);
    if (!parsed) continue;
    for (const cli of clis) {
      const event = chance() < 0.5 ? undefined : chance() < 0.8 ? pick(chance, eventNames) : hostileString(chance);
      const input = timed(`${cli.client} parsing ${text.slice(0, 300)}`, () => cli.hook.parse(parsed, event, {}));
      if (!input) continue;
      for (const line of requestLines(cli.client, input, { pid: 10, start: "1" }, undefined, chance() < 0.5)) {
        const { type, ...fields } = JSON.parse(line) as { type: "session" | "hook" };
        if (line.includes("\n", 0) && line.indexOf("\n") !== line.length - 1) throw new Error(`${cli.client} makes two lines of ${text}`);
        if (!Value.Check(requests[type].fields, { type, ...fields }))
          throw new Error(
            `${cli.client} makes of ${text} what the broker refuses: ${JSON.stringify(Value.Errors(requests[type].fields, fields).First())}`,
          );
      }
      const answer = cli.hook.answer(input.event, event ?? "", hostileString(chance));
      if (answer !== "" && (cli.hook.silent === "{}" || answer.startsWith("{"))) JSON.parse(answer);
    }
  }
  return count;
}

/** Transcript rows through every CLI's proof reader. Returns how many were tried. */
export function fuzzRows(count: number, chance: Chance): number {
  const readers = clis.flatMap((cli) => (cli.proofReader ? [{ client: cli.client, read: cli.proofReader() }] : []));
  for (let n = 0; n < count; n++) {
    const made = JSON.stringify(row(chance)) ?? "";
    const text = chance() < 0.7 ? made : chance() < 0.5 ? mutated(chance, made) : new TextDecoder().decode(hostileBytes(chance, 500));
    for (const { client, read } of readers) {
      const ids = timed(`${client} reading ${text.slice(0, 300)}`, () => read(text));
      if (!Array.isArray(ids) || !ids.every((id) => typeof id === "number"))
        throw new Error(`${client} proves ${JSON.stringify(ids)} by ${text}`);
    }
  }
  return count;
}

/** The hook as a process: exit status 0, nothing on stderr, JSON or nothing on stdout, over in time. Returns how many were run. */
export async function fuzzHookProcesses(count: number, chance: Chance): Promise<number> {
  const home = makeHome();
  try {
    for (let n = 0; n < count; n++) {
      const stdin = [
        hostileBytes(chance, 5_000),
        Buffer.from(JSON.stringify(payload(chance))),
        Buffer.alloc(2_000_000, 91),
        Buffer.from(""),
      ][n % 4] as Uint8Array;
      const args = [pick(chance, ["claude", "codex", "gemini", "zcode", "nobody", ""]), pick(chance, [...eventNames, "", "\u001b[2J"])];
      const started = performance.now();
      const run = Bun.spawn([...rennCommand(), "hook", ...args], {
        env: { ...brokerEnv(home), CODEX_SANDBOX: "1" },
        cwd: "/",
        stdin,
        stdout: "pipe",
        stderr: "pipe",
      });
      const [exitCode, stdout, stderr] = await Promise.all([run.exited, run.stdout.text(), run.stderr.text()]);
      const ms = performance.now() - started;
      if (exitCode !== 0 || stderr !== "") throw new Error(`hook ${JSON.stringify(args)} ended with ${exitCode}: ${stderr.slice(0, 300)}`);
      if (stdout !== "") JSON.parse(stdout);
      if (ms > 5_000) throw new Error(`hook ${JSON.stringify(args)} took ${Math.round(ms)} ms`);
    }
    return count;
  } finally {
    home.remove();
  }
}
