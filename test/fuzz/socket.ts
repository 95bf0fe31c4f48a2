// Hostile bytes on the real socket of a real broker: lines cut and joined at will, CRLF, blank lines, lines over the limit, connections that break off.
// Every whole line is answered once, the process stays the same, and its log tells of no failure.
import { existsSync, readFileSync } from "node:fs";
import type { Socket } from "bun";
import type { HomePaths } from "../../src/home.ts";
import { lineBytesMax } from "../../src/protocol/constants.ts";
import { LineSplitter } from "../../src/wire.ts";
import { join, until } from "../crash/broker.ts";
import type { Chance } from "./hostile.ts";
import { wildLine } from "./requests.ts";

const batch = 100;
const memoryBytesMax = 300 * 1_048_576;
const newline = new Uint8Array([10]);

/** A connection that counts what comes back. */
class Wild {
  answers = 0;
  closed = false;
  private socket: Socket | null = null;
  private unsent: Uint8Array[] = [];
  private readonly splitter = new LineSplitter(64 * 1_048_576);

  static async open(paths: HomePaths): Promise<Wild> {
    const wild = new Wild();
    wild.socket = await Bun.connect({
      unix: paths.socket,
      socket: {
        data: (_socket, bytes) => wild.splitter.push(bytes, (line) => wild.line(line as Uint8Array)),
        drain: () => wild.flush(),
        close: () => {
          wild.closed = true;
        },
        error: () => {
          wild.closed = true;
        },
      },
    });
    return wild;
  }

  private line(line: Uint8Array): void {
    // Answers may be megabytes: whether it is one stands at its start.
    if (!new TextDecoder().decode(line.subarray(0, 24)).startsWith('{"v":2,"type":"event"')) this.answers++;
  }

  write(bytes: Uint8Array): void {
    this.unsent.push(bytes);
    this.flush();
  }

  private flush(): void {
    for (let chunk = this.unsent[0]; chunk && !this.closed; chunk = this.unsent[0]) {
      const taken = Math.max(0, this.socket?.write(chunk) ?? 0);
      if (taken < chunk.length) {
        this.unsent[0] = chunk.subarray(taken);
        return;
      }
      this.unsent.shift();
    }
  }

  end(): void {
    this.socket?.end();
  }

  terminate(): void {
    this.socket?.terminate();
  }
}

function pieces(chance: Chance, bytes: Uint8Array): Uint8Array[] {
  const cut: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const to = chance() < 0.5 ? bytes.length : at + 1 + Math.floor(chance() * 3_000);
    cut.push(bytes.subarray(at, to));
    at = to;
  }
  return cut;
}

/** Sends some lines and waits for as many answers, or for the end of the connection. */
async function sendBatch(wild: Wild, chance: Chance, count: number): Promise<void> {
  const parts: Uint8Array[] = [];
  const want = wild.answers + count;
  for (let n = 0; n < count; ) {
    const line = wildLine(chance, n + 1);
    const text = Buffer.from(line).toString();
    // A wait without its time would hold the rest of the batch for two minutes.
    if (!line.length || text === "\r" || (text.includes('"wait"') && !text.includes('"timeoutMs":0'))) continue;
    parts.push(line, ...(chance() < 0.1 ? [new Uint8Array([13])] : []), newline, ...(chance() < 0.1 ? [newline] : []));
    n++;
  }
  for (const piece of pieces(chance, Buffer.concat(parts))) wild.write(piece);
  await until(`${count} lines are answered`, () => wild.answers >= want || wild.closed, 60_000);
  if (wild.answers > want) throw new Error(`${wild.answers - want} answers more than lines`);
}

/** A line over the limit: refused once, and the connection ends. */
async function tooLong(paths: HomePaths): Promise<void> {
  const wild = await Wild.open(paths);
  wild.write(Buffer.alloc(lineBytesMax + 4_096, 120));
  await until("the connection is closed", () => wild.closed);
  if (wild.answers !== 1) throw new Error(`a line over the limit got ${wild.answers} answers`);
}

const authLine = (token: string) => JSON.stringify({ v: 2, id: 0, type: "auth", token });

/** Sends `count` lines over several connections. The home's broker is started by the caller. */
export async function fuzzSocket(paths: HomePaths, count: number, chance: Chance): Promise<{ lines: number; connections: number }> {
  const watcher = await join(paths, "watcher");
  const before = await watcher.call("stats", {});
  const token = readFileSync(paths.token, "utf8").trim();
  let lines = 0;
  let connections = 0;
  const one = async (name: string): Promise<void> => {
    while (lines < count) {
      const wild = await Wild.open(paths);
      connections++;
      if (chance() < 0.9) {
        wild.write(Buffer.from(`${authLine(token)}\n{"v":2,"id":0,"type":"register","handle":"${name}","clientKind":"mcp"}\n`));
        await until("auth and register are answered", () => wild.answers === 2);
      }
      for (let n = 0; n < 10 && !wild.closed && lines < count; n++) {
        lines += batch;
        await sendBatch(wild, chance, batch);
      }
      if (chance() < 0.3) wild.write(wildLine(chance, 1));
      if (chance() < 0.5) wild.terminate();
      else wild.end();
    }
  };
  await Promise.all(["ann", "bob", "cat", "dan"].map(one));
  for (let n = 0; n < 3; n++) await tooLong(paths);
  const after = await watcher.call("stats", {});
  watcher.close();
  if (after.pid !== before.pid) throw new Error("another broker serves now");
  if (after.memoryBytes > memoryBytesMax) throw new Error(`the broker takes ${after.memoryBytes} bytes`);
  const log = existsSync(paths.log) ? readFileSync(paths.log, "utf8") : "";
  const bad = log.split("\n").find((line) => line.includes('"level":"error"'));
  if (bad) throw new Error(`the log says ${bad.slice(0, 500)}`);
  return { lines, connections };
}
