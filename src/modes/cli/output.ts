// Where a command's answer goes: text for people or JSON, and how it ends. Exit statuses: 0 done, 1 refused, 2 usage, 3 broker not reachable, 4 timed out, 5 sandbox.

import { handlePattern } from "../../protocol/constants.ts";
import { errorCodes, ProtocolError } from "../../protocol/errors.ts";
import { harmlessLine } from "../../protocol/text.ts";
import { dim, joined, onTerminal, terminalWidth, wrapped } from "./style.ts";
import { isTerminal } from "./terminal.ts";

/** The command line is not what the command takes: exit status 2. */
export class UsageError extends Error {}

/** A finished command that ends with a status other than 0, after its answer was written. */
export class Exit extends Error {
  readonly status: number;
  constructor(status: number) {
    super(`exit ${status}`);
    this.status = status;
  }
}

/** Writes to standard output; a reader that has left ends the command quietly, as it does for every other program in a pipe. */
export async function write(text: string): Promise<void> {
  try {
    await Bun.write(Bun.stdout, text);
  } catch (error) {
    if ((error as { code?: string }).code === "EPIPE") process.exit(0);
    throw error;
  }
}

/** A line of text for people. */
export const print = (line: string): Promise<void> => write(`${line}\n`);

const terminalControls = /[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** One JSON document on one line. Characters that a terminal obeys are written as escapes, which is the same JSON. */
export function printJson(value: unknown): Promise<void> {
  const json = JSON.stringify(value).replace(terminalControls, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return write(`${json}\n`);
}

/** The likely next commands, on a terminal only. */
export async function hint(...next: string[]): Promise<void> {
  if (onTerminal) await print(`\n${dim(`Next: ${joined(next, terminalWidth() - "Next: ".length)}`)}`);
}

/** One line on standard error; a terminal breaks it between words. */
export function warn(text: string): void {
  const line = `renn: ${harmlessLine(text)}`;
  if (!isTerminal(2)) return console.error(line);
  const shown = wrapped(line, process.stderr.columns || 80);
  console.error(process.env.NO_COLOR ? shown : shown.replace("renn:", "\x1b[31mrenn:\x1b[0m"));
}

const sandboxStatus = 5;

/** Says what went wrong and gives the exit status for it. */
export function failed(error: unknown): number {
  if (error instanceof Exit) return error.status;
  if (error instanceof UsageError) {
    warn(error.message);
    return 2;
  }
  if (error instanceof ProtocolError) {
    warn(sentence(error));
    if (error.code === "bad_request" && error.message.includes(handleRule)) return 2;
    return error.data?.sandbox ? sandboxStatus : (errorCodes[error.code]?.exit ?? 1);
  }
  warn(error instanceof Error ? error.message : String(error));
  return 1;
}

/** As the broker says it to programs. */
const handleRule = `a string that matches ${handlePattern},`;

function sentence(error: ProtocolError): string {
  const more = error.data?.suggestions;
  const near = !more?.length ? lookAt(error) : error.message.includes(more[0] ?? "") ? "" : `; did you mean ${more.join(", ")}?`;
  const retry = error.data?.retryAfterMs;
  const wait = retry !== undefined && !/\d\s*(s|ms|seconds)\b/.test(error.message) ? `; try again in ${Math.ceil(retry / 1000)} s` : "";
  return `${error.message.replace(handleRule, "lowercase letters, digits and hyphens, 2 to 48 characters,")}${near}${wait}`;
}

/** Where the names are that would have been right. */
function lookAt(error: ProtocolError): string {
  if (error.code === "unknown_handle") return "; who is there: renn status";
  return error.code === "unknown_group" ? "; which there are: renn group" : "";
}

/** A body from `-m`, an argument, or standard input where it is `-`. */
export async function bodyText(text: string): Promise<string> {
  if (text !== "-") return text;
  if (isTerminal(0)) warn("reading the message from the terminal; end it with Ctrl-D");
  return (await Bun.stdin.text()).replace(/\r?\n$/, "");
}

/** A message or thread id: `42`, `m42` or `#42`; `example` is what the refusal names. */
export function idNumber(text: string, what: string, example = "42 or m42"): number {
  const match = /^[m#]?(\d{1,16})$/.exec(text);
  const id = Number(match?.[1]);
  if (!match || id < 1 || !Number.isSafeInteger(id))
    throw new UsageError(`${what} must be a number such as ${example}, and is ${JSON.stringify(text)}`);
  return id;
}
