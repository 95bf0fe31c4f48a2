// What exists only on a real socket: bytes that are split and merged, halves that close, readers that do not read (semantics §1, §2, §3).
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { Server } from "../../src/broker/server.ts";
import { answerBytesMax, lineBytesMax } from "../../src/protocol/constants.ts";
import { RawClient } from "../world/socket.ts";
import { until } from "../world/until.ts";
import { token, World } from "../world.ts";

let folder: string;
let world: World;
let server: Server;
let clients: RawClient[];
const path = () => `${folder}/bus.sock`;

beforeEach(() => {
  folder = mkdtempSync(`${tmpdir()}/renn ñ 家-`);
  world = new World({ limits: { sendsPerWindow: 100_000 } });
  server = new Server(world.broker, () => world.system.monotonic());
  server.listen(path());
  clients = [];
});
afterEach(async () => {
  for (const client of clients) client.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function connect(handle?: string, fields: object = {}): Promise<RawClient> {
  const client = await RawClient.connect(path());
  clients.push(client);
  if (handle === undefined) return client;
  client.request(1, "auth", { token });
  client.request(2, "register", { handle, clientKind: "mcp", ...fields });
  await client.take(2);
  return client;
}

const sendLine = (id: number, body: string) => JSON.stringify({ v: 2, id, type: "send", threadId: null, to: "bob", body });
/** A send whose line has exactly so many bytes. */
const sized = (id: number, bytes: number) => sendLine(id, `${id}`.padEnd(bytes - sendLine(id, "").length, "x"));

describe("lines", () => {
  test("of exactly one MiB are taken, whatever ends them; one byte more ends the connection", async () => {
    await connect("bob");
    const ann = await connect("ann");
    ann.write(`${sized(3, lineBytesMax)}\n`);
    ann.write(`${sized(4, lineBytesMax)}\r\n`);
    expect((await ann.take(2)).map((f) => "ok" in f && f.ok)).toEqual([true, true]);
    ann.write(`${sized(5, lineBytesMax + 1)}\n{"v":2,"id":6,"type":"status"}\n`);
    expect(await ann.take(1)).toMatchObject([{ id: null, ok: false, error: { code: "bad_request" } }]);
    await ann.ended();
    expect(ann.frames).toEqual([]);
  });

  test("that never end are refused when they are too long, and not kept", async () => {
    const ann = await connect("ann");
    ann.write("x".repeat(lineBytesMax + 2));
    expect(await ann.take(1)).toMatchObject([{ id: null, error: { code: "bad_request" } }]);
    await ann.ended();
  });

  test("may be blank, end in CRLF, and hold any text: frames end at LF only", async () => {
    await connect("bob");
    const ann = await connect("ann");
    ann.write(`\n\r\n\n${sendLine(3, "a\u2028b\u2029c\rd")}\r\n\n`);
    ann.write('{"v":2,"id":4,"type":"read","ids":[1]}\n');
    const [, read] = await ann.take(2);
    expect(read).toMatchObject({ id: 4, result: { messages: [{ body: "a\u2028b\u2029c\rd" }] } });
  });

  test("come whole however they are cut, also within a character", async () => {
    await connect("bob");
    const ann = await connect("ann");
    for (const byte of new TextEncoder().encode(`${sendLine(3, "日本👩‍👩‍👧")}\n`)) ann.write(new Uint8Array([byte]));
    ann.request(4, "read", { ids: [1] });
    expect((await ann.take(2))[1]).toMatchObject({ result: { messages: [{ body: "日本👩‍👩‍👧" }] } });
  });

  test("of one write are answered in their order, good and bad ones", async () => {
    const ann = await connect("ann");
    const lines = Array.from({ length: 1500 }, (_, n) => (n % 3 ? `{"v":2,"id":${n},"type":"whoami"}` : `{"v":2,"id":${n},"type":"nope"}`));
    ann.write(`${lines.join("\n")}\n`);
    const frames = await ann.take(1500);
    expect(frames.map((f) => "id" in f && f.id)).toEqual(Array.from({ length: 1500 }, (_, n) => n));
    expect(frames.filter((f) => "ok" in f && !f.ok)).toHaveLength(500);
  });

  test("that are no UTF-8 are refused, and the connection goes on", async () => {
    const ann = await connect("ann");
    ann.write(new Uint8Array([0x22, 0xc3, 0x28, 0x22, 0x0a]));
    ann.request(3, "status");
    expect(await ann.take(2)).toMatchObject([
      { id: null, error: { code: "bad_request" } },
      { id: 3, ok: true },
    ]);
  });
});

describe("a connection", () => {
  test("is answered after it closed its writing half, also by a wait that lasts", async () => {
    const bob = await connect("bob");
    const ann = await connect("ann");
    ann.write(`${sendLine(3, "well?")}\n{"v":2,"id":4,"type":"wait","threadId":1,"until":"all_replied"}\n{"v":2,"id":5,"type":"whoami"}\n`);
    ann.halfClose();
    await ann.take(1);
    bob.request(3, "reply", { messageId: 1, body: "yes" });
    expect(await ann.take(2)).toMatchObject([
      { id: 4, result: { conditionMet: true } },
      { id: 5, ok: true },
    ]);
    await ann.ended();
  });

  test("that closes takes its wait with it", async () => {
    await connect("bob");
    const ann = await connect("ann");
    ann.write(`${sendLine(3, "well?")}\n{"v":2,"id":4,"type":"wait","threadId":1,"until":"all_replied"}\n`);
    await ann.take(1);
    const eye = await connect("eye");
    const waits = async (id: number) => {
      eye.request(id, "stats");
      const [frame] = (await eye.take(1)) as unknown as [{ result: { waits: number; connections: number } }];
      return frame.result;
    };
    for (let id = 10; (await waits(id)).waits !== 1; id++);
    ann.close();
    for (let id = 1000; ; id++) {
      const now = await waits(id);
      if (now.waits === 0 && now.connections === 2) break;
    }
    expect(world.broker.bus.waits.size).toBe(0);
  });

  test("without auth is closed when its time is over", async () => {
    const quiet = await connect();
    quiet.write("\n");
    const ann = await connect("ann");
    world.advance(10_000);
    ann.request(3, "status");
    await ann.take(1);
    await quiet.ended();
    expect(quiet.frames).toEqual([]);
  });

  test("hears what time causes by the server's own timer", async () => {
    world.system.monotonic = () => performance.now();
    await connect("bob");
    const ann = await connect("ann");
    ann.write(`${sendLine(3, "well?")}\n`);
    ann.request(4, "wait", { threadId: 1, until: "all_replied", timeoutMs: 30 });
    expect((await ann.take(2))[1]).toMatchObject({ id: 4, result: { timedOut: true } });
  });

  test("with a wrong token gets its answer before the end", async () => {
    const a = await connect();
    a.request(1, "auth", { token: "wrong" });
    a.request(2, "status");
    expect(await a.take(1)).toMatchObject([{ id: 1, error: { code: "bad_token" } }]);
    await a.ended();
    expect(a.frames).toEqual([]);
  });

  test("is one of hundreds", async () => {
    const many: RawClient[] = [];
    // Both ends live in this process: more at once than the kernel keeps waiting would be refused by it, more in all than 1,024 descriptors
    // do not fit everywhere. A thousand are connected by the bench.
    while (many.length < 400) many.push(...(await Promise.all(Array.from({ length: 100 }, () => connect()))));
    for (const client of many) client.request(1, "auth", { token });
    for (const client of many) expect(await client.take(1)).toMatchObject([{ ok: true }]);
    expect(world.broker.bus.conns.size).toBe(400);
  });
});

describe("a reader that does not read", () => {
  test("is not read from past four MiB, and gets everything in its order when it reads again", async () => {
    await connect("bob");
    const ann = await connect("ann");
    ann.write(`${sendLine(3, "x".repeat(900_000))}\n`);
    await ann.take(1);
    ann.pause();
    for (let id = 4; id < 34; id++) ann.request(id, "read", { ids: [1] });
    const bob = await connect("bob");
    let most = 0;
    for (let id = 10; id < 40; id++) {
      bob.request(id, "status");
      await bob.take(1);
      for (const conn of world.broker.bus.conns) most = Math.max(most, conn.sink.pending());
    }
    expect(most).toBeLessThan(2 * answerBytesMax);
    ann.resume();
    const frames = await ann.take(30);
    expect(frames.map((f) => "id" in f && f.id)).toEqual(Array.from({ length: 30 }, (_, n) => n + 4));
  });

  test("of events is dropped past eight MiB, and what it did not confirm waits for it", async () => {
    const slow = await connect("bob", { listen: true });
    const ann = await connect("ann");
    slow.pause();
    const [conn] = [...world.broker.bus.conns];
    conn?.sink.write(`"${"x".repeat(9_000_000)}"\n`);
    ann.write(`${sendLine(3, "one")}\n`);
    expect(await ann.take(1)).toMatchObject([{ result: { deliveries: [{ state: "sent" }] } }]);
    slow.resume();
    await slow.ended();
    expect(slow.frames).toEqual([]);
    const back = await connect();
    back.request(1, "auth", { token });
    back.request(2, "register", { handle: "bob", clientKind: "mcp", listen: true });
    expect(await back.take(3)).toMatchObject([{ id: 1 }, { event: "push", payload: { message: { id: 1 } } }, { id: 2 }]);
  });
});

describe("the socket", () => {
  test("at the stop: a large answer still leaves, and a reader that does not read is not waited for long", async () => {
    await connect("bob");
    const [ann, stuck] = [await connect("ann"), await connect("stuck")];
    ann.write(`${sendLine(3, "x".repeat(900_000))}\n`);
    await ann.take(1);
    stuck.pause();
    for (const [id, client] of [ann, stuck].entries()) client.request(10 + id, "read", { ids: [1, 1, 1] });
    await until(() => world.broker.bus.counts.requests >= 9, "both requests");
    const started = performance.now();
    const stopped = server.stop();
    expect(await ann.take(1)).toMatchObject([{ id: 10, ok: true }]);
    await stopped;
    // A second is its grace, the rest is for machines that do other work beside; a reader like this one waits for ever.
    expect(performance.now() - started).toBeLessThan(20_000);
  });

  test("is the user's alone", () => {
    expect(statSync(path()).mode & 0o777).toBe(0o600);
  });

  test("at the stop: what was read is answered, waits hear broker_closed, and nobody can connect", async () => {
    await connect("bob");
    const ann = await connect("ann");
    ann.write(`${sendLine(3, "well?")}\n`);
    await ann.take(1);
    ann.request(4, "wait", { threadId: 1, until: "all_replied" });
    const eye = await connect("eye");
    for (let id = 10; world.broker.bus.waits.size === 0; id++) {
      eye.request(id, "whoami");
      await eye.take(1);
    }
    await server.stop();
    expect(await ann.take(1)).toMatchObject([{ id: 4, ok: false, error: { code: "broker_closed" } }]);
    expect(RawClient.connect(path())).rejects.toThrow();
  });
});
