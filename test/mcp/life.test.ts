// How the server lives: through broker restarts without losing or doubling a call, and not a moment longer than who started it.
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Client as McpClient } from "@modelcontextprotocol/client";
import type { Socket } from "bun";
import type { Client } from "../../src/client.ts";
import type { Result } from "../../src/protocol/schemas.ts";
import { rennCommand } from "../binary.ts";
import { dataOf, textOf, until, World } from "./world.ts";

// Processes are started here, and a busy machine takes its time.
setDefaultTimeout(30_000);

let world: World;
let mcp: McpClient;

beforeEach(async () => {
  world = new World();
  await world.start();
});
afterEach(() => world.end());

/** The session of this process, in which the server finds itself, and another one. */
async function sessions(): Promise<Client> {
  await world.session("other", "desk-1", { pid: process.pid, handle: "desk" });
  const peer = await world.session("other", "peer-1", { handle: "peer" });
  mcp = await world.mcp("editor");
  return peer;
}

/** Stands before a broker and cuts, once, a connection after it has answered a line with `mark`, and before the answer is passed on. Counts. */
function loseAnAnswer(path: string, broker: string, mark: string): () => number {
  let lost = 0;
  Bun.listen<{ up: Socket<undefined> | null; early: Uint8Array[]; cut: boolean }>({
    unix: path,
    socket: {
      async open(down) {
        down.data = { up: null, early: [], cut: false };
        const data = (up: Socket<undefined>, bytes: Uint8Array) => {
          if (!down.data.cut) return void down.write(bytes);
          up.end();
          down.end();
        };
        down.data.up = await Bun.connect({ unix: broker, socket: { data, close: () => void down.end() } });
        for (const bytes of down.data.early) down.data.up.write(bytes);
      },
      data({ data }, bytes) {
        if (lost === 0 && new TextDecoder().decode(bytes).includes(mark)) {
          lost++;
          data.cut = true;
        }
        if (data.up) data.up.write(bytes);
        else data.early.push(Uint8Array.from(bytes));
      },
      close: ({ data }) => void data.up?.end(),
    },
  }).unref();
  return () => lost;
}

const call = (name: string, args: Record<string, unknown> = {}) => mcp.callTool({ name, arguments: args });

test("a broker restart between two calls is not noticed", async () => {
  await sessions();
  const first = dataOf<Result<"send">>(await call("send", { to: ["peer"], body: "Before" }));
  await world.stop();
  await world.start();
  const second = dataOf<Result<"send">>(await call("send", { to: ["peer"], body: "After", threadId: first.threadId }));
  expect(second).toMatchObject({ threadId: first.threadId, seq: 2 });
  const { messages } = dataOf<Result<"thread">>(await call("thread", { threadId: first.threadId }));
  expect(messages.map((message) => [message.from, message.firstLine])).toEqual([
    ["desk", "Before"],
    ["desk", "After"],
  ]);
});

test("a send whose answer is lost is sent again, and stored once", async () => {
  const peer = await sessions();
  const home = join(world.env.HOME ?? "", "lossy");
  mkdirSync(home, { mode: 0o700 });
  copyFileSync(world.paths.token, join(home, "token"));
  const lost = loseAnAnswer(join(home, "bus.sock"), world.paths.socket, '"type":"send"');
  mcp = await world.mcp("editor", { RENN_HOME: home });
  const sent = await call("send", { to: ["peer"], body: "Only one of me" });
  expect(lost()).toBe(1);
  expect(dataOf<Result<"send">>(sent)).toMatchObject({ repeated: true, threadId: 1, seq: 1 });
  expect((await peer.call("inbox", { unreadOnly: true })).unreadTotal).toBe(1);
});

test("a wait goes on through a broker restart", async () => {
  const peer = await sessions();
  const { threadId, messageId } = dataOf<Result<"send">>(await call("send", { to: ["peer"], body: "Still there?" }));
  const waiting = call("wait", { threadId, timeoutMs: 20_000 });
  await until(async () => (await peer.call("stats", {})).waits > 0);
  await world.stop();
  await world.start();
  const back = await world.session("other", "peer-1");
  await until(async () => (await back.call("stats", {})).waits > 0);
  await back.call("reply", { messageId, body: "Still here" });
  expect(textOf(await waiting)).toContain("> Still here");
});

test("without a broker the first call starts one, and what may be known of the caller decides the rest", async () => {
  await world.stop();
  mcp = await world.mcp("editor");
  expect(textOf(await call("status"))).toStartWith("unknown_session: renn finds no session on the bus");
  const pinned = await world.mcp("editor", { RENN_HANDLE: "my-editor" });
  expect(textOf(await pinned.callTool({ name: "status", arguments: {} }))).toStartWith("You are my-editor.");
  await world.stopStarted();
});

test("a handle set for the server does not count inside a session", async () => {
  await sessions();
  const pinned = await world.mcp("editor", { RENN_HANDLE: "somebody-else" });
  expect(textOf(await pinned.callTool({ name: "status", arguments: {} }))).toStartWith("You are desk.");
});

test("it follows a rename", async () => {
  await sessions();
  expect(textOf(await call("status"))).toStartWith("You are desk.");
  const same = await world.session("other", "desk-1", { pid: process.pid });
  await same.call("name", { handle: "new-desk" });
  expect(textOf(await call("status"))).toStartWith("You are new-desk.");
});

test("it ends when the CLI that started it is killed", async () => {
  const script = `exec 3<&0; ${rennCommand()
    .concat("mcp")
    .map((word) => `'${word}'`)
    .join(" ")} <&3 & echo $!; wait`;
  const cli = Bun.spawn(["sh", "-c", script], { env: world.env, stdin: "pipe", stdout: "pipe", stderr: "ignore" });
  const { value } = await cli.stdout.getReader().read();
  const pid = Number(new TextDecoder().decode(value).trim());
  cli.kill("SIGKILL");
  const alive = () => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  await until(() => !alive());
  expect(alive()).toBe(false);
});
