// Hooks against the true broker, which they start themselves.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { Client } from "../../src/client.ts";
import { type HomePaths, homePaths } from "../../src/home.ts";
import { rennCommand } from "../binary.ts";
import { until } from "../clis/until.ts";
import { payloads, runHook } from "./world.ts";

const shown = (out: string) => (out ? (JSON.parse(out).hookSpecificOutput.additionalContext as string) : "");

function newHome(): HomePaths {
  return homePaths({ RENN_HOME: mkdtempSync(`${tmpdir()}/hooks ñ 家-`) });
}

function stopBroker(paths: HomePaths): void {
  Bun.spawnSync([...rennCommand(), "broker", "stop"], { env: { PATH: process.env.PATH ?? "", RENN_HOME: paths.home } });
  rmSync(paths.home, { recursive: true, force: true });
}

describe("one session's life", () => {
  const paths = newHome();
  let owner: Client;
  let handle = "";
  const run = (client: string, payload: object, env: Record<string, string> = {}) => runHook(paths.home, [client], payload, env);
  const send = async (body: string) => {
    const { messageId } = await owner.call("send", { threadId: null, to: [handle], body });
    return messageId;
  };
  const stateOf = async (messageId: number) => (await owner.call("why", { messageId })).deliveries[0]?.state;

  beforeAll(async () => {
    // The first start may be slower than the hook may wait; then the next one finds the broker.
    let intro = "";
    for (let tries = 0; !intro && tries < 20; tries++)
      intro = shown((await run("zcode", payloads.zcode("SessionStart", { source: "startup" }))).out);
    handle = /^You are `([^`]+)`/.exec(intro)?.[1] ?? "";
    owner = await Client.connect({ paths });
    await owner.call("register", { clientKind: "cli", owner: true });
  });
  afterAll(() => {
    owner?.close();
    stopBroker(paths);
  });

  // Whatever conversations a test has begun, the next one finds the first again.
  afterEach(async () => {
    await run("zcode", payloads.zcode("SessionStart", { source: "clear" }));
  });

  test("a session start has started the broker and says who the session is", () => {
    expect(handle).toBe("zcode-proj");
  });

  test("RENN_HANDLE names a session at its start, and one that inherits it from another's shell gets a name of its own", async () => {
    const start = async (id: string) => {
      const payload = payloads.zcode("SessionStart", { source: "startup", session_id: id, sessionId: id });
      return shown((await run("zcode", payload, { RENN_HANDLE: "chosen-one" })).out).split("\n")[0];
    };
    expect(await start("first")).toContain("`chosen-one`");
    expect(await start("second")).toContain("`zcode-proj-2`");
  });

  test("a message is shown once, at the next prompt, and counts at the event after it", async () => {
    const id = await send("hello");
    const first = await run("zcode", payloads.zcode("UserPromptSubmit", { prompt: "x" }));
    expect(shown(first.out)).toContain(`[murmur m${id} thread `);
    expect(await stateOf(id)).toBe("sent");
    expect((await run("zcode", payloads.zcode("PostToolUse"))).out).toBe("");
    expect(await stateOf(id)).toBe("delivered");
  });

  test("a turn goes on once for what came meanwhile", async () => {
    const id = await send("one more");
    const stop = await run("zcode", payloads.zcode("Stop", { stop_hook_active: false }));
    expect(JSON.parse(stop.out).reason).toContain(`[murmur m${id} `);
    await send("and another");
    expect((await run("zcode", payloads.zcode("Stop", { stop_hook_active: true }))).out).toBe("");
    expect(shown((await run("zcode", payloads.zcode("UserPromptSubmit", { prompt: "x" }))).out)).toContain("and another");
  });

  test("a subagent takes nothing, and another program in the same process is somebody else", async () => {
    await send("for the session");
    expect((await run("zcode", payloads.zcode("PostToolUse", { agent_id: "a" }))).out).toBe("");
    const other = await run("gemini", payloads.gemini("SessionStart", { source: "startup" }));
    expect(shown(other.out)).toStartWith("You are `gemini-proj`");
    expect(shown((await run("zcode", payloads.zcode("PostToolUse"))).out)).toContain("for the session");
  });

  test("after a clear the new conversation has the handle and its mail", async () => {
    await send("kept");
    const cleared = await run("zcode", payloads.zcode("SessionStart", { source: "clear", session_id: "z2", sessionId: "z2" }));
    expect(shown(cleared.out)).toStartWith(`You are \`${handle}\``);
    expect(shown(cleared.out)).toContain("kept");
  });
});

describe("the waiter beside a Claude Code without peer socket", () => {
  const paths = newHome();
  let owner: Client;
  const start = payloads.claude("SessionStart", { source: "startup" });
  const waiter = (env: Record<string, string> = {}) =>
    Bun.spawn([...rennCommand(), "hook", "claude", "wake"], {
      env: { PATH: process.env.PATH ?? "", RENN_HOME: paths.home, ...env },
      stdin: Buffer.from(JSON.stringify(start)),
      stdout: "pipe",
      stderr: "pipe",
    });

  beforeAll(async () => {
    for (let out = "", tries = 0; !out && tries < 20; tries++) ({ out } = await runHook(paths.home, ["claude"], start));
    owner = await Client.connect({ paths });
    await owner.call("register", { clientKind: "cli", owner: true });
  });
  afterAll(() => {
    owner?.close();
    stopBroker(paths);
  });

  test("wakes the session for mail, says nothing of it, and takes nothing", async () => {
    await runHook(paths.home, ["claude"], payloads.claude("Stop"));
    const child = waiter();
    await owner.call("send", { threadId: null, to: ["claude-proj"], body: "secret" });
    expect(await child.exited).toBe(2);
    expect([await new Response(child.stdout).text(), await new Response(child.stderr).text()]).toEqual([
      "",
      "Messages from other agents wait on renn.\n",
    ]);
    const prompt = await runHook(paths.home, ["claude"], payloads.claude("UserPromptSubmit", { prompt: "x" }));
    expect(shown(prompt.out)).toContain("secret");
  });

  test("ends by itself where a turn runs, and where there is a socket", async () => {
    await runHook(paths.home, ["claude"], payloads.claude("UserPromptSubmit", { prompt: "x" }));
    expect(await Promise.all([waiter().exited, waiter({ CLAUDE_CODE_MESSAGING_SOCKET: "/x" }).exited])).toEqual([0, 0]);
  });
});

test("a prompt without a broker does not wait for the one that it starts", async () => {
  const paths = newHome();
  try {
    const run = await runHook(paths.home, ["claude"], payloads.claude("UserPromptSubmit", { prompt: "x" }));
    expect(run).toMatchObject({ out: "", err: "", status: 0 });
    await until(() => existsSync(paths.socket));
  } finally {
    stopBroker(paths);
  }
});
