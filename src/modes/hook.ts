// Hook mode: one run at each event of a CLI session. It tells the broker what happened, takes what waits for the session and prints it as that CLI wants it.
// It may never disturb the CLI: whatever goes wrong ends with exit status 0 and no output, and a line in hook.log. It does one thing after another and waits
// in system calls of its own (hook/calls.ts). No `node:` module is imported here, since each costs more time than the whole exchange.
import type { Cli, HookInput } from "../clis/cli.ts";
import { eventName } from "../clis/common.ts";
import { withTools } from "../clis/edits.ts";
import { cliOf } from "../clis/index.ts";
import { parseObject } from "../clis/payload.ts";
import { type HomePaths, homePaths } from "../home.ts";
import { ancestors, hostArguments } from "./hook/ancestors.ts";
import { type Limit, readAll, readFile, runningMs, statFile, writeAll } from "./hook/calls.ts";
import { askBroker, BrokerAway, type Door, isFar, nearSocket, openDoor } from "./hook/exchange.ts";
import { guessClient } from "./hook/guess.ts";
import { answerText, requestLines } from "./hook/messages.ts";

const limitMs = 300;
const startLimitMs = 1_000;
/** A reader that does not read must not hold the CLI either. */
const outputMsMax = 100;
/** Longer inputs are not read: no event needs them. */
const inputBytesMax = 16 * 1_048_576;
const [stdin, stdout] = [0, 1];

type Run = {
  args: string[];
  tools: boolean;
  limit: Limit;
  cli: Cli | undefined;
  event: string;
  paths: HomePaths | undefined;
  /** What is asked of the broker, once it is known: `tell` does it and gives the output. */
  request: { input: HookInput; tell: () => string } | undefined;
};

/**
 * `renn hook [client] [event] [--tools]`: input on stdin. `--tools` says that the session has the renn tools. Always ends the process itself, with
 * status 0, and at once but for what is rare: a promise and an import cost as much as twenty functions.
 */
export function hook(words: string[]): undefined | Promise<void> {
  const at = words.indexOf(withTools);
  const args = at < 0 ? words : words.toSpliced(at, 1);
  if (args[1] === "wake") return import("./hook/wake.ts").then(({ wake }) => wake(args[0] ?? ""));
  const [cli, event, limit] = [cliOf(args[0]), args[1] ?? "", { ms: limitMs }];
  const run: Run = { args, tools: at >= 0, limit, cli, event, paths: undefined, request: undefined };
  try {
    const paths = homePaths(process.env);
    run.paths = paths;
    if (isFar(paths)) return import("../client/place.ts").then(({ socketPath }) => act(run, () => openDoor(paths, socketPath)));
    return act(run, () => openDoor(paths, nearSocket));
  } catch (error) {
    return rescue(run, error);
  }
}

function act(run: Run, knock: () => Door | Error): undefined | Promise<void> {
  try {
    say(run, answer(run, knock));
  } catch (error) {
    return rescue(run, error);
  }
  process.exit(0);
}

function answer(run: Run, knock: () => Door | Error): string {
  // Before there is any input: the broker wakes up meanwhile. Whoever tells once more knocks anew.
  const doors = [knock()];
  const payload = parseObject(readAll(stdin, inputBytesMax, run.limit));
  if (payload === null) throw new Error("the input is no JSON object, or one of too many values");
  const cli = run.cli ?? guessClient(payload);
  run.cli = cli;
  run.event = eventName(payload, cliOf(run.args[0]) ? run.args[1] : run.args[0]) ?? "";
  const input = cli.hook.parse(payload, run.event, process.env);
  if (input === null) {
    const mistake = cli.hook.mistake?.(payload, run.event);
    if (mistake) throw new Error(mistake);
    return "";
  }
  if (input.event === "session-start") run.limit.ms = startLimitMs;
  const host = cli.hook.host(ancestors(process.ppid, cli.hook.program), process.env, input.pid);
  if (host === undefined) throw new Error(noHost(input));
  const headless = cli.hook.headless?.(process.env, () => hostArguments(host.pid));
  const title = input.title ?? cli.hook.title?.(input, readEnd);
  const handle = handleFor(input, cli, headless);
  const tell = (name: { handle?: string }): string => {
    const lines = requestLines(cli.client, { ...input, ...(title && { title }), ...name }, host, headless, run.tools);
    const text = answerText(input.event, askBroker(doors.pop() ?? knock(), lines, run.limit), cli.hook.answerMax);
    return text === "" ? "" : cli.hook.answer(input.event, run.event, text);
  };
  run.request = { input, tell: () => (handle === undefined ? tell({}) : tellNamed(handle, tell)) };
  return run.request.tell();
}

function noHost({ pid }: HookInput): string {
  if (pid === undefined) return "no process of the CLI above this one";
  return pid === -1 ? "pid must be a whole number" : `pid ${pid} is no process above this one that could be a session`;
}

/** The name that the user gave a session by starting its CLI with `RENN_HANDLE`. Codex's daemon has the environment of whoever started it first. */
function handleFor(input: HookInput, cli: Cli, headless: boolean | undefined): string | undefined {
  const own = input.event === "session-start" && (cli.client !== "codex" || headless);
  return own ? process.env.RENN_HANDLE || undefined : undefined;
}

/** Tells the name; where it cannot be had (the variable came down from another session's shell, say) the session joins without it. */
function tellNamed(handle: string, tell: (name: { handle?: string }) => string): string {
  try {
    return tell({ handle });
  } catch (error) {
    if (!String(error).includes("bad_request: handle")) throw error;
    return tell({});
  }
}

/** The last bytes of a file as text; empty when it cannot be read. */
function readEnd(path: string, bytes: number): string {
  try {
    return readFile(path, Math.max(0, statFile(path).size - bytes));
  } catch {
    return "";
  }
}

/** Prints what the CLI is told; nothing in words is what it takes for silence. */
function say(run: Run, output: string): void {
  const said = output || run.cli?.hook.silent;
  if (said) writeAll(stdout, said, { ms: runningMs() + outputMsMax });
}

/** What can still be done once something failed: a broker is started, or the reason stands in hook.log. */
async function rescue(run: Run, failure: unknown): Promise<void> {
  try {
    say(run, await startAndTell(run, failure));
  } catch (error) {
    await giveUp(run, error instanceof Error ? error.message : String(error));
  }
  process.exit(0);
}

/** A session start may start the broker and wait, other events start it and do not wait (semantics §1). Throws `failure` where it is another one. */
async function startAndTell({ request, paths, limit }: Run, failure: unknown): Promise<string> {
  const { input, tell } = request ?? {};
  if (!(failure instanceof BrokerAway) || !paths || !input || !tell || input.event === "session-end") throw failure;
  return (await import("./hook/start.ts")).startBroker(paths, input.event === "session-start" ? limit : undefined, tell);
}

async function giveUp(run: Run, reason: string): Promise<void> {
  try {
    if (run.paths) (await import("./hook/log.ts")).logFailure(run.paths, run.cli?.client, run.event, reason);
    // The last, since what failed may be the output itself.
    say(run, "");
  } catch {
    // Nothing can be said any more, and nothing may be.
  }
}
