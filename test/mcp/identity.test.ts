// Whose call a call is: each CLI's own way of telling, and what is refused because it could be somebody else's.
import { afterEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Caller, identify, pinnedHandle, type Surroundings, UnknownCaller } from "../../src/modes/mcp/identity.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

/** Pid 30 (start "s30") is the server's parent, a child of 20, a child of 10. */
const parents: Record<number, number> = { 30: 20, 20: 10, 10: 1 };
const system = { parent: (pid: number) => parents[pid] ?? null, processStart: (pid: number) => (parents[pid] ? `s${pid}` : null) };

function around(env: Record<string, string> = {}): Surroundings {
  return { env: { HOME: "/nonexistent", ...env }, parentPid: 30, system };
}

function caller(program: string, meta: Record<string, unknown> = {}, session?: unknown): Caller {
  return { program, meta, session };
}

function claudeFolder(entries: Record<string, unknown>): string {
  const folder = mkdtempSync(join(tmpdir(), "renn claude ünï-"));
  folders.push(folder);
  mkdirSync(join(folder, "sessions"));
  for (const [pid, entry] of Object.entries(entries))
    writeFileSync(join(folder, "sessions", `${pid}.json`), typeof entry === "string" ? entry : JSON.stringify(entry));
  return folder;
}

describe("Codex", () => {
  test("is its threadId", async () => {
    expect(await identify(caller("codex-mcp-client", { threadId: "t-1" }), around())).toMatchObject({
      client: "codex",
      sessionId: "t-1",
      alone: false,
    });
  });

  test.each([undefined, "", 7, null, "x".repeat(201)])("with a threadId that is none is nobody (%#)", async (threadId) => {
    await expect(identify(caller("codex-mcp-client", { threadId }), around())).rejects.toBeInstanceOf(UnknownCaller);
  });
});

describe("opencode", () => {
  test("is the session that its plugin puts into the arguments", async () => {
    expect(await identify(caller("opencode", {}, "ses_1"), around())).toMatchObject({
      client: "opencode",
      sessionId: "ses_1",
      alone: false,
    });
  });

  test("without the plugin is nobody", async () => {
    await expect(identify(caller("opencode"), around())).rejects.toBeInstanceOf(UnknownCaller);
  });
});

describe("Claude Code", () => {
  test("is the session in its registry now, read again at each call", async () => {
    const folder = claudeFolder({ 30: { pid: 30, procStart: "s30", sessionId: "before" } });
    const env = { CLAUDE_CONFIG_DIR: folder, CLAUDE_CODE_SESSION_ID: "stale" };
    expect(await identify(caller("claude-code"), around(env))).toMatchObject({ client: "claude", sessionId: "before", alone: true });
    writeFileSync(join(folder, "sessions", "30.json"), JSON.stringify({ pid: 30, procStart: "s30", sessionId: "after clear" }));
    expect(await identify(caller("claude-code"), around(env))).toMatchObject({ sessionId: "after clear" });
  });

  test.each([
    ["of a reused pid", { pid: 30, procStart: "s29", sessionId: "old" }],
    ["of another pid", { pid: 31, procStart: "s30", sessionId: "other" }],
    ["without session", { pid: 30, procStart: "s30" }],
    ["that is no JSON", "{"],
  ])("is looked for by process where the registry has an entry %s", async (_what, entry) => {
    const env = { CLAUDE_CONFIG_DIR: claudeFolder({ 30: entry }), CLAUDE_CODE_SESSION_ID: "stale" };
    const identity = await identify(caller("claude-code"), around(env));
    expect(identity).toEqual({ kind: "ancestors", ancestors: [30, 20, 10], clients: ["claude"] });
  });
});

describe("other programs", () => {
  test("are looked for by process, and never as a session that tells by itself who it is", async () => {
    const identity = await identify(caller("some-editor", { threadId: "t-1" }, "ses_1"), around());
    expect(identity).toEqual({ kind: "ancestors", ancestors: [30, 20, 10], clients: ["zcode", "hummin", "other"] });
  });

  test("Gemini is matched with Gemini sessions alone", async () => {
    expect(await identify(caller("gemini-cli-mcp-client-renn"), around())).toMatchObject({ clients: ["gemini"] });
  });

  test("may be pinned by RENN_HANDLE, if that is a handle", () => {
    expect(pinnedHandle({ RENN_HANDLE: "desk-1" })).toBe("desk-1");
    expect(pinnedHandle({})).toBeNull();
    expect(() => pinnedHandle({ RENN_HANDLE: "No Handle" })).toThrow(UnknownCaller);
  });
});
