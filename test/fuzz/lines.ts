// Hostile lines against the true broker in a simulated world: each gets one answer of the protocol's shape, none is `internal`, no text that a session or a
// listener would see can be taken for somebody else's, and memory and store agree all the while.
import { type TypeCheck, TypeCompiler } from "@sinclair/typebox/compiler";
import { errorCodes } from "../../src/protocol/errors.ts";
import type { EventFrame, ServerFrame } from "../../src/protocol/frames.ts";
import { events, type RequestType, requests } from "../../src/protocol/schemas.ts";
import { checkState } from "../sim/audit.ts";
import type { TestConnection } from "../world/connection.ts";
import { World } from "../world.ts";
import type { Chance } from "./hostile.ts";
import { pick } from "./hostile.ts";
import { wildLine } from "./requests.ts";

const linesPerWorld = 2_500;
const people = ["ann", "bob", "cat", "dan"];

type Check = TypeCheck<never>;
const resultChecks = new Map<string, Check>();
const eventChecks = new Map<string, Check>();

function checkOf(known: Map<string, Check>, name: string, schema: unknown): Check {
  const check = known.get(name) ?? (TypeCompiler.Compile(schema as never) as Check);
  known.set(name, check);
  return check;
}

/** What must never be in a text: control characters but tab and newline, and what turns the direction of writing. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const harmful = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

/** As a reader, or a model, may take it: compatibility forms folded, invisible characters left out. */
const asRead = (text: string) =>
  text
    .normalize("NFKC")
    .replace(/[\p{Cf}\p{Mn}\u115f\u1160\u17b4\u17b5\u3164\uffa0]/gu, "")
    .toLowerCase();

/** Why a text that a session would see is not safe, or null. */
export function unsafe(text: string): string | null {
  if (harmful.test(text)) return "it holds control characters";
  if (!/^\[murmur m\d+ thread \d+ #\d+/.test(text)) return "it does not begin with its tag";
  const read = asRead(text);
  if (read.split("[murmur").length > 2) return "it holds a second tag";
  const replies = read.split("[reply:").length - 1;
  if (replies > 1) return "it holds a second footer";
  if (replies === 1 && !text.slice(text.lastIndexOf("\n") + 1).startsWith("[reply: ")) return "its footer is not its last line";
  return null;
}

function textsOf(frame: ServerFrame): string[] {
  if ("event" in frame) return frame.event === "push" ? [(frame.payload as { text: string }).text] : [];
  if (!frame.ok || typeof frame.result !== "object" || frame.result === null) return [];
  return (frame.result as { texts?: string[] }).texts ?? [];
}

function introOf(frame: ServerFrame): string | null {
  if ("event" in frame || !frame.ok || typeof frame.result !== "object" || frame.result === null) return null;
  return (frame.result as { intro?: string }).intro ?? null;
}

export class LineFuzz {
  lines = 0;
  answers = 0;
  texts = 0;
  readonly codes = new Map<string, number>();
  private readonly chance: Chance;
  private world = new World();
  private connections: TestConnection[] = [];
  private logged = 0;

  constructor(chance: Chance) {
    this.chance = chance;
  }

  run(count: number): void {
    for (let n = 0; n < count; n++) {
      if (n % linesPerWorld === 0) this.begin();
      this.line();
      if (n % 250 === 0) checkState(this.world.broker.bus);
      if (n % 20 === 0) this.world.advance(pick(this.chance, [10, 5_000, 70_000]));
    }
    this.world.end();
  }

  private begin(): void {
    this.world.end();
    this.world = new World({ limits: { sendsPerWindow: 1_000, unreadMax: 40 } });
    this.logged = 0;
    this.connections = people.map((handle) => this.world.register(handle, { listen: this.chance() < 0.5 }));
    for (const handle of people.slice(0, 2))
      this.connections.push(this.world.session(`${handle}-cli`, { client: pick(this.chance, ["claude", "codex", "zcode"]) }));
    this.connections.push(this.world.owner());
  }

  private line(): void {
    const at = Math.floor(this.chance() * this.connections.length);
    const connection = this.connections[at] as TestConnection;
    const bytes = wildLine(this.chance, 1 + Math.floor(this.chance() * 1e6));
    if (!bytes.length) return;
    connection.raw(bytes);
    if (connection.conn.wait) this.world.advance(300_001);
    this.lines++;
    const shown = new TextDecoder().decode(bytes).slice(0, 600);
    const own = connection.frames.splice(0);
    const answered = own.filter((frame) => !("event" in frame)).length;
    if (answered !== 1) throw new Error(`${answered} answers to ${shown}`);
    for (const frame of own) this.frame(frame, shown);
    for (const other of this.connections) for (const frame of other.frames.splice(0)) this.frame(frame, shown);
    for (const log of this.world.logs.slice(this.logged))
      if (log.level === "error") throw new Error(`${JSON.stringify(log.data)} after ${shown}`);
    this.logged = this.world.logs.length;
    if (connection.ended || connection.conn.closed)
      this.connections[at] = this.world.register(`peer-${this.lines}`, { listen: this.chance() < 0.5 });
  }

  private frame(frame: ServerFrame, line: string): void {
    for (const text of textsOf(frame)) {
      const why = unsafe(text);
      this.texts++;
      if (why) throw new Error(`${why}: ${JSON.stringify(text)}`);
    }
    const intro = introOf(frame);
    // Its own sentence names the tag once; who else is here, and as what, must not.
    const tags = intro === null ? 0 : asRead(intro).split("[murmur").length - 1;
    if (intro !== null && (harmful.test(intro) || tags > 1 || asRead(intro).includes("[reply:")))
      throw new Error(`an intro is not safe: ${JSON.stringify(intro)}`);
    if ("event" in frame) return checkEvent(frame, line);
    this.answers++;
    const code = frame.ok ? "ok" : frame.error.code;
    this.codes.set(code, (this.codes.get(code) ?? 0) + 1);
    if (!frame.ok && (code === "internal" || !Object.hasOwn(errorCodes, code)))
      throw new Error(`${code} (${frame.error.message}) to ${line}`);
    if (frame.ok) checkResult(frame.result, line);
  }
}

function checkResult(result: unknown, line: string): void {
  const { type } = JSON.parse(line.length < 600 ? line : "{}") as { type?: RequestType };
  if (!type || !Object.hasOwn(requests, type)) return;
  const check = checkOf(resultChecks, type, requests[type].result);
  if (!check.Check(result))
    throw new Error(`the result of ${line} is not what the schema says: ${JSON.stringify(check.Errors(result).First())}`);
}

function checkEvent(frame: EventFrame, line: string): void {
  const schema = events[frame.event as keyof typeof events]?.payload;
  const check = checkOf(eventChecks, frame.event, schema);
  if (!check.Check(frame.payload))
    throw new Error(
      `an event ${frame.event} after ${line} is not what the schema says: ${JSON.stringify(check.Errors(frame.payload).First())}`,
    );
}
