// Hook mode: one run at each event of a CLI session. It tells the broker what happened, takes what waits for the session and prints it as that CLI wants it.
// It may never disturb the CLI: whatever goes wrong ends with exit status 0 and no output, and a line in hook.log. It does one thing after another and waits
// in system calls of its own (hook/calls.ts). No `node:` module is imported here, since each costs more time than the whole exchange.
import type { Cli, HookInput } from "../clis/cli.ts";
import { eventName } from "../clis/common.ts";
import { withTools } from "../clis/edits.ts";
import { cliOf } from "../clis/index.ts";
import { type Payload, parseObject } from "../clis/payload.ts";
import { type HomePaths, homePaths } from "../home.ts";
import { ancestors, hostArguments } from "./hook/ancestors.ts";
import { type Limit, readFileEnd, readToEnd, writeAll } from "./hook/calls.ts";
import { askBroker, BrokerAway, type Door, openDoor } from "./hook/exchange.ts";
import { guessClient } from "./hook/guess.ts";
import { answerText, requestLines } from "./hook/messages.ts";

const limitMs = 300;
const startLimitMs = 1_000;
/** A reader that does not read must not hold the CLI either. */
const outputMsMax = 100;
/** Longer inputs are not read: no event needs them. */
const inputBytesMax = 16 * 1_048_576;
const [stdin, stdout] = [0, 1];

type Run = { cli: Cli | undefined; event: string; limit: Limit; paths: HomePaths | undefined };

/**
 * `renn hook [client] [event] [--tools]`: input on stdin. `--tools` says that the session has the renn tools. Always ends the process itself,
 * with status 0.
 */
export async function hook(words: string[]): Promise<void> {
  const at = words.indexOf(withTools);
  const args = at < 0 ? words : words.toSpliced(at, 1);
  if (args[1] === "wake") return (await import("./hook/wake.ts")).wake(args[0] ?? "");
  const run: Run = { cli: cliOf(args[0]), event: args[1] ?? "", limit: { ms: limitMs }, paths: undefined };
  let reason: string | undefined;
  try {
    run.paths = homePaths(process.env);
    say(run, await answer(run, run.paths, args, at >= 0));
  } catch (error) {
    reason = error instanceof Error ? error.message : String(error);
  }
  if (reason !== undefined) await giveUp(run, reason);
  process.exit(0);
}

async function answer(run: Run, paths: HomePaths, args: string[], tools: boolean): Promise<string | undefined> {
  // Before there is any input: the broker wakes up meanwhile.
  let door: Promise<Door> | undefined = openDoor(paths);
  door.catch(() => {});
  const payload = parseObject(readToEnd(stdin, inputBytesMax, run.limit));
  if (payload === null) throw new Error("the input is no JSON object, or one of too many values");
  run.cli ??= guessClient(payload);
  const input = understand(run, payload, args);
  if (input === null) {
    const mistake = run.cli.hook.mistake?.(payload, run.event);
    if (mistake) throw new Error(mistake);
    return undefined;
  }
  if (input.event === "session-start") run.limit.ms = startLimitMs;
  const { hook: side, client } = run.cli;
  const host = side.host(ancestors(process.ppid, side.program), process.env, input.pid);
  if (host === undefined) throw new Error(noHost(input));
  const headless = side.headless?.(process.env, () => hostArguments(host.pid));
  const title = input.title ?? side.title?.(input, readEnd);
  const ask = async (lines: string[]) => {
    const opened = door ?? openDoor(paths);
    door = undefined;
    return askBroker(await opened, lines, run.limit);
  };
  const askAs = (name: { handle?: string }) =>
    reach(run, paths, input, () => ask(requestLines(client, { ...input, ...(title && { title }), ...name }, host, headless, tools)));
  const result = await askNamed(handleFor(input, run.cli, headless), askAs);
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
async function reach(run: Run, paths: HomePaths, input: HookInput, ask: () => Promise<Payload | null>): Promise<Payload | null> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof BrokerAway) || input.event === "session-end") throw error;
    return (await import("./hook/start.ts")).startBroker(paths, input.event === "session-start" ? run.limit : undefined, ask);
  }
}

/** The last bytes of a file as text; empty when it cannot be read. */
function readEnd(path: string, bytes: number): string {
  try {
    return readFileEnd(path, bytes);
  } catch {
    return "";
  }
}

function say(run: Run, text: string | undefined): void {
  const output = text ?? run.cli?.hook.silent ?? "";
  if (output) writeAll(stdout, output, { ms: performance.now() + outputMsMax });
}

/** Prints what the CLI takes for silence, and says why in hook.log. */
async function giveUp(run: Run, reason: string): Promise<void> {
  try {
    if (run.paths) (await import("./hook/log.ts")).logFailure(run.paths, run.cli?.client, run.event, reason);
    // The last, since what failed may be the output itself.
    say(run, undefined);
  } catch {
    // Nothing can be said any more, and nothing may be.
  }
}
