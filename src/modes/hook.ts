// Hook mode: one run at each event of a CLI session. It tells the broker what happened, takes what waits for the session and prints it as that CLI wants it.
// It may never disturb the CLI: whatever goes wrong ends with exit status 0 and no output, and a line in hook.log. No `node:` module is imported here, since
// each costs more time than the whole exchange.
import type { Cli, HookInput } from "../clis/cli.ts";
import { eventName } from "../clis/common.ts";
import { withTools } from "../clis/edits.ts";
import { cliOf } from "../clis/index.ts";
import { type Payload, parseObject } from "../clis/payload.ts";
import { type HomePaths, homePaths } from "../home.ts";
import { ancestors, hostArguments } from "./hook/ancestors.ts";
import { askBroker, BrokerAway, type Door, findDoor } from "./hook/exchange.ts";
import { guessClient } from "./hook/guess.ts";
import { answerText, requestLines } from "./hook/messages.ts";

/** From the start of the process to its end, in ms. */
const deadlineMs = 300;
const startDeadlineMs = 1_000;
/** Longer inputs are not read: no event needs them. */
const inputCharactersMax = 8 * 1_048_576;

type Run = {
  cli: Cli | undefined;
  event: string;
  timer: ReturnType<typeof setTimeout> | undefined;
  over: boolean;
  paths: HomePaths | undefined;
};

/**
 * `renn hook [client] [event] [--tools]`: input on stdin. `--tools` says that the session has the renn tools. Always ends the process itself,
 * with status 0.
 */
export async function hook(words: string[]): Promise<void> {
  const args = words.filter((word) => word !== withTools);
  if (args[1] === "wake") return (await import("./hook/wake.ts")).wake(args[0] ?? "");
  const run: Run = { cli: cliOf(args[0]), event: args[1] ?? "", timer: undefined, over: false, paths: undefined };
  endBy(run, deadlineMs);
  try {
    run.paths = homePaths(process.env);
    await finish(run, await answer(run, run.paths, args, args.length < words.length));
  } catch (error) {
    await giveUp(run, error instanceof Error ? error.message : String(error));
  }
}

/** Sets when the process ends at the latest, in ms after its start. */
function endBy(run: Run, ms: number): void {
  clearTimeout(run.timer);
  run.timer = setTimeout(() => void giveUp(run, `no answer within ${ms} ms`), Math.max(0, ms - performance.now()));
}

async function answer(run: Run, paths: HomePaths, args: string[], tools: boolean): Promise<string | undefined> {
  // What needs no input is begun before it is there.
  const door = findDoor(paths);
  const above = ancestors(process.ppid, run.cli?.hook.program);
  door.catch(() => {});
  const payload = parseObject(await readInput());
  if (payload === null) throw new Error("the input is no JSON object, or one of too many values");
  run.cli ??= guessClient(payload);
  const input = understand(run, payload, args);
  if (input === null) {
    const mistake = run.cli.hook.mistake?.(payload, run.event);
    if (mistake) throw new Error(mistake);
    return undefined;
  }
  if (input.event === "session-start") endBy(run, startDeadlineMs);
  const host = run.cli.hook.host(await above, process.env, input.pid);
  if (host === undefined) throw new Error(noHost(input));
  const { hook: side, client } = run.cli;
  const headless = await side.headless?.(process.env, () => hostArguments(host.pid));
  const title = input.title ?? (await side.title?.(input, readEnd));
  const ask = (more: { handle?: string }) =>
    reach(paths, door, input, requestLines(client, { ...input, ...(title && { title }), ...more }, host, headless, tools));
  const result = await askNamed(handleFor(input, run.cli, headless), ask);
  const text = answerText(input.event, result, side.answerMax);
  return text === "" ? undefined : side.answer(input.event, run.event, text);
}

function noHost({ pid }: HookInput): string {
  if (pid === undefined) return "no process of the CLI above this one";
  return pid === -1 ? "pid must be a whole number" : `pid ${pid} is no process above this one that could be a session`;
}

function understand(run: Run, payload: Payload, args: string[]): HookInput | null {
  const argument = cliOf(args[0]) ? args[1] : args[0];
  run.event = eventName(payload, argument) ?? "";
  return run.cli?.hook.parse(payload, run.event, process.env) ?? null;
}

/** The name that the user gave a session by starting its CLI with `RENN_HANDLE`. Codex's daemon has the environment of whoever started it first. */
function handleFor(input: HookInput, cli: Cli, headless: boolean | undefined): string | undefined {
  const own = input.event === "session-start" && (cli.client !== "codex" || headless);
  return own ? process.env.RENN_HANDLE || undefined : undefined;
}

/** Asks with the name; where it cannot be had (the variable came down from another session's shell, say) the session joins without it. */
async function askNamed(handle: string | undefined, ask: (more: { handle?: string }) => Promise<Payload | null>): Promise<Payload | null> {
  if (handle === undefined) return ask({});
  try {
    return await ask({ handle });
  } catch (error) {
    if (!String(error).includes("bad_request: handle")) throw error;
    return ask({});
  }
}

/** Asks the broker; a session start may start it first and wait, other events start it and do not wait (semantics §1). */
async function reach(paths: HomePaths, door: Promise<Door>, input: HookInput, lines: string[]): Promise<Payload | null> {
  try {
    return await askBroker(await door, lines);
  } catch (error) {
    if (!(error instanceof BrokerAway) || input.event === "session-end") throw error;
    const { startBroker } = await import("./hook/start.ts");
    return await startBroker(paths, input.event === "session-start", async () => askBroker(await findDoor(paths), lines));
  }
}

/** All of stdin as text, unless it is too long. At once, since a stream costs milliseconds; an endless one is ended by the deadline. */
async function readInput(): Promise<string> {
  const text = await Bun.stdin.text();
  if (text.length > inputCharactersMax) throw new Error("the input is too long");
  return text;
}

/** The last bytes of a file as text; empty when it cannot be read, or is none: a pipe would block for ever. */
async function readEnd(path: string, bytes: number): Promise<string> {
  try {
    const file = Bun.file(path);
    if (!(await file.stat()).isFile()) return "";
    return await file.slice(Math.max(0, file.size - bytes)).text();
  } catch {
    return "";
  }
}

async function giveUp(run: Run, reason: string): Promise<void> {
  if (run.over) return;
  await finish(run, undefined, reason);
}

async function finish(run: Run, text: string | undefined, reason?: string): Promise<void> {
  if (run.over) return;
  run.over = true;
  clearTimeout(run.timer);
  // A reader that does not read must not hold the CLI either.
  setTimeout(() => process.exit(0), 100);
  try {
    const output = text ?? run.cli?.hook.silent ?? "";
    if (output) await Bun.write(Bun.stdout, output);
    if (reason !== undefined && run.paths) (await import("./hook/log.ts")).logFailure(run.paths, run.cli?.client, run.event, reason);
  } catch {
    // Nothing can be said any more, and nothing may be.
  }
  process.exit(0);
}
