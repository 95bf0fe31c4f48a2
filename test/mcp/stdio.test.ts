// The server as a process, without a broker: how it opens, what it writes, and that listing its tools touches nothing.
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { rennCommand } from "../binary.ts";
import { World } from "./world.ts";

// Processes are started here, and a busy machine takes its time.
setDefaultTimeout(30_000);

const world = new World();
afterAll(() => world.end());

const initialize = (protocolVersion: string, id = 1) => ({
  jsonrpc: "2.0",
  id,
  method: "initialize",
  params: { protocolVersion, capabilities: {}, clientInfo: { name: "test", version: "1" } },
});

/** Writes lines to a server, closes its input once so many lines came back, and gives all that it wrote and how it ended. */
async function talk(lines: (object | string)[], answers: number) {
  const child = Bun.spawn([...rennCommand(), "mcp"], { env: world.env, stdin: "pipe", stdout: "pipe", stderr: "pipe" });
  for (const line of lines) child.stdin.write(`${typeof line === "string" ? line : JSON.stringify(line)}\n`);
  child.stdin.flush();
  let out = "";
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) {
    out += decoder.decode(chunk, { stream: true });
    if (out.split("\n").length > answers) child.stdin.end();
  }
  const status = await child.exited;
  return {
    status,
    frames: out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line)),
  };
}

describe("renn mcp", () => {
  test.each(["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])(
    "opens with protocol version %s and ends with its input",
    async (version) => {
      const { status, frames } = await talk([initialize(version)], 1);
      expect(frames[0].result).toMatchObject({ protocolVersion: version, serverInfo: { name: "renn" } });
      expect(status).toBe(0);
    },
  );

  test("answers a client's probe for the protocol of 2026", async () => {
    const meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const { frames } = await talk(
      [{ jsonrpc: "2.0", id: 1, method: "server/discover", params: { _meta: meta } }, initialize("2025-11-25", 2)],
      2,
    );
    expect(frames[0].result.supportedVersions).toEqual(["2026-07-28"]);
    expect(frames[1].result.protocolVersion).toBe("2025-11-25");
  });

  test("survives lines that are no protocol, and writes nothing but the protocol", async () => {
    const { frames, status } = await talk(
      ["no json", "[]", "{}", '{"jsonrpc":"2.0","id":{},"method":7}', initialize("2025-11-25"), { jsonrpc: "2.0", id: 2, method: "ping" }],
      2,
    );
    expect(frames.map((frame) => frame.id)).toEqual([1, 2]);
    expect(status).toBe(0);
  });

  test("lists its tools, resources and prompts without a home or a broker", async () => {
    const client = await world.mcp("claude-code");
    const { tools } = await client.listTools();
    expect(tools.map((tool) => tool.name)).toContain("send");
    expect((await client.listResources()).resources.map((resource) => resource.uri)).toContain("renn://inbox");
    expect((await client.listResourceTemplates()).resourceTemplates[0]?.uriTemplate).toBe("renn://thread/{id}");
    expect((await client.listPrompts()).prompts.map((prompt) => prompt.name)).toEqual(["consult", "announce", "handoff"]);
    expect(existsSync(world.paths.home)).toBe(false);
    expect(client.getInstructions()).toContain("none grants permission");
  });

  test("gives prompts, and says which argument is missing", async () => {
    const client = await world.mcp("test");
    const { messages } = await client.getPrompt({ name: "consult", arguments: { question: "Is it safe?", peers: "codex-api" } });
    expect(JSON.stringify(messages)).toContain("Is it safe?");
    expect(JSON.stringify(messages)).toContain("codex-api");
    await expect(client.getPrompt({ name: "consult", arguments: {} })).rejects.toThrow("needs the argument question");
    await expect(client.getPrompt({ name: "nothing" })).rejects.toThrow("no prompt");
  });

  test("refuses a tool and an argument that it does not have, before it looks who asks", async () => {
    const client = await world.mcp("test");
    await expect(client.callTool({ name: "nothing", arguments: {} })).rejects.toThrow("no tool");
    const result = await client.callTool({ name: "send", arguments: { to: ["a"], body: "b", thread: 1 } });
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: 'bad_request: send has no argument "thread"; it takes to, body, threadId, references, mode.' }],
    });
  });

  test("says that it does not know the caller, and starts no broker for that", async () => {
    const codex = await world.mcp("codex-mcp-client");
    const opencode = await world.mcp("opencode");
    for (const client of [codex, opencode]) {
      const result = await client.callTool({ name: "inbox", arguments: {} });
      expect(JSON.stringify(result)).toContain("unknown_session");
      expect(result.isError).toBe(true);
    }
    expect(existsSync(world.paths.home)).toBe(false);
  });

  test("says what is wrong with a home that others can open, and lives on", async () => {
    const home = join(world.env.HOME ?? "", "open to all");
    mkdirSync(home);
    chmodSync(home, 0o755);
    const client = await world.mcp("test", { RENN_HOME: home });
    const result = await client.callTool({ name: "status", arguments: {} });
    expect(result.isError).toBe(true);
    expect(JSON.stringify(result.content)).toContain("broker_down: ");
    expect(JSON.stringify(result.content)).toContain("chmod 700");
    expect((await client.listTools()).tools.length).toBeGreaterThan(0);
  });
});
