// Hook mode as the CLIs run it: what it tells the broker, and what it prints for each CLI and event.
import { afterEach, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, readFileSync, statSync } from "node:fs";
import { realSystem } from "../../src/system.ts";
import { emptyHome, fakeBroker } from "../fake-broker.ts";
import { type Answer, hookWorld, payloads, runHook } from "./world.ts";

const text = "[murmur m42 thread 7 #3 from renn to x]\nhello\n[reply: renn reply 42]";
const worlds: { end(): void }[] = [];
afterEach(() => {
  for (const world of worlds.splice(0)) world.end();
});

function world(answer: Answer = {}) {
  const made = hookWorld(answer);
  worlds.push(made);
  return made;
}

const context = (event: string, shown: string) =>
  JSON.stringify({ hookSpecificOutput: { hookEventName: event, additionalContext: shown } });

describe("what is printed", () => {
  const cases: [client: string, payload: object, output: string][] = [
    ["claude", payloads.claude("UserPromptSubmit", { prompt: "hi" }), context("UserPromptSubmit", text)],
    ["claude", payloads.claude("PostToolUse"), context("PostToolUse", text)],
    ["claude", payloads.claude("Stop", { stop_hook_active: false }), context("Stop", text)],
    ["codex", payloads.codex("UserPromptSubmit", { prompt: "hi" }), context("UserPromptSubmit", text)],
    ["codex", payloads.codex("Stop"), JSON.stringify({ decision: "block", reason: text })],
    ["gemini", payloads.gemini("BeforeAgent", { prompt: "hi" }), context("BeforeAgent", text)],
    ["gemini", payloads.gemini("AfterAgent"), JSON.stringify({ decision: "deny", reason: text })],
    ["zcode", payloads.zcode("UserPromptSubmit"), context("UserPromptSubmit", text)],
    ["zcode", payloads.zcode("Stop"), JSON.stringify({ decision: "block", reason: text })],
  ];
  for (const [client, payload, output] of cases)
    test(`${client} ${(payload as { hook_event_name: string }).hook_event_name}`, async () => {
      const w = world({ texts: [text], block: true });
      const run = await w.run([client], payload);
      expect(run).toMatchObject({ out: output, err: "", status: 0 });
    });

  test("a session start shows the intro, then messages, then notifications and what is left", async () => {
    const notifications = [{ kind: "reply_arrived", threadId: 7, fromHandle: "web" }, { kind: "of-tomorrow" }];
    const w = world({ intro: "You are x.", texts: [text], notifications, more: 2 });
    const run = await w.run(["claude"], payloads.claude("SessionStart", { source: "startup" }));
    const shown = JSON.parse(run.out).hookSpecificOutput.additionalContext;
    expect(shown).toBe(
      `You are x.\n\n${text}\n\nrenn: web replied (thread 7)\nrenn: 2 more messages wait for this session and will come at its next prompt or tool call`,
    );
  });

  test("what would be too much for the CLI leaves the messages alone and drops the rest", async () => {
    const long = `[murmur m1 x]\n${"a".repeat(7400)}`;
    const w = world({ intro: "i".repeat(2000), texts: [long] });
    const run = await w.run(["codex"], payloads.codex("SessionStart", { source: "startup" }));
    expect(JSON.parse(run.out).hookSpecificOutput.additionalContext).toBe(long);
  });

  test("a stop without block prints nothing, and Gemini always gets JSON", async () => {
    const w = world();
    expect((await w.run(["claude"], payloads.claude("Stop"))).out).toBe("");
    expect((await w.run(["gemini"], payloads.gemini("AfterAgent"))).out).toBe("{}");
    expect((await w.run(["gemini"], payloads.gemini("BeforeTool"))).out).toBe("{}");
  });
});

describe("what the broker hears", () => {
  test("Gemini's subagents are counted, since their tool calls look like the session's own; its other tools are not looked at beforehand", async () => {
    const w = world();
    for (const [event, tool_name] of [
      ["BeforeTool", "invoke_agent"],
      ["BeforeTool", "read_file"],
      ["AfterTool", "read_file"],
      ["AfterTool", "invoke_agent"],
    ])
      expect((await w.run(["gemini"], payloads.gemini(event as string, { tool_name }))).out).toBe("{}");
    const heard = w.lines.filter((line) => line.type === "hook").map(({ event, subagents }) => [event, subagents]);
    expect(heard).toEqual([
      ["post-tool", 1],
      ["post-tool", undefined],
      ["post-tool", -1],
    ]);
  });

  test("auth, session and hook in one write", async () => {
    const w = world();
    await w.run(["claude"], payloads.claude("UserPromptSubmit", { session_title: "My Title", permission_mode: "bypassPermissions" }));
    expect(w.chunks.length).toBe(1);
    expect(w.lines).toMatchObject([
      {
        type: "session",
        event: "prompt",
        client: "claude",
        cliSessionId: "c3349afd-0000-4000-8000-000000000000",
        host: {
          hostPid: process.pid,
          hostStart: realSystem.processStart(process.pid),
        },
        title: "My Title",
        cwd: "/tmp/proj",
        bypass: true,
      },
      { type: "hook", event: "prompt", client: "claude" },
    ]);
  });

  test("a tool call is a prompt of the session and a post-tool of the hook; an end is only told", async () => {
    const w = world();
    await w.run(["claude"], payloads.claude("PostToolUse"));
    await w.run(["claude"], payloads.claude("SessionEnd", { reason: "clear" }));
    expect(w.lines.map((line) => `${line.type} ${line.event}`)).toEqual(["session prompt", "hook post-tool", "session session-end"]);
  });

  test("a frame that was pushed natively is named, quoted tags are not", async () => {
    const w = world();
    const frame = (body: string) =>
      `<cross-session-message from="uds:/tmp/cc-socks/1.sock" from-name="web">\n${body}\n</cross-session-message>`;
    await w.run(["claude"], payloads.claude("UserPromptSubmit", { prompt: frame(`${text}\n\n[murmur m43 thread 8 #1 from a to x]\nyo`) }));
    await w.run(["claude"], payloads.claude("UserPromptSubmit", { prompt: `look:\n${frame(text)}` }));
    await w.run(["claude"], payloads.claude("UserPromptSubmit", { prompt: text }));
    expect(w.lines.filter((line) => line.type === "hook").map((line) => line.seen)).toEqual([[42, 43], undefined, undefined]);
  });

  test("the title of a Codex thread counts when it replaced another", async () => {
    const w = world();
    const codexHome = `${w.home.home}/codex`;
    const session = "019a0000-0000-7000-8000-000000000000";
    const row = (name: string) => `${JSON.stringify({ id: session, thread_name: name })}\n`;
    const payload = payloads.codex("UserPromptSubmit", {
      transcript_path: `${codexHome}/sessions/2026/12/01/rollout-x-${session}.jsonl`,
    });
    await Bun.write(`${codexHome}/session_index.jsonl`, row("made by codex"));
    await w.run(["codex"], payload);
    await Bun.write(`${codexHome}/session_index.jsonl`, row("made by codex") + row("Mine"));
    await w.run(["codex"], payload);
    expect(w.lines.filter((line) => line.type === "session").map((line) => line.title)).toEqual([undefined, "Mine"]);
    expect(w.lines[0]?.bypass).toBeUndefined();
  });

  test("a run that ends with its answer says so", async () => {
    const w = world();
    await w.run(["claude"], payloads.claude("UserPromptSubmit"), { CLAUDE_CODE_ENTRYPOINT: "sdk-cli" });
    await w.run(["claude"], payloads.claude("UserPromptSubmit"), { CLAUDE_CODE_ENTRYPOINT: "cli" });
    expect(w.lines.filter((line) => line.type === "session").map((line) => line.headless)).toEqual([true, false]);
  });

  test("an entry of init says that the session has the tools", async () => {
    const w = world();
    await w.run(["claude", "--tools"], payloads.claude("Stop"));
    await w.run(["claude"], payloads.claude("Stop"));
    expect(w.lines.filter((line) => line.type === "hook").map((line) => line.tools)).toEqual([true, undefined]);
  });

  test("the client is guessed where the entry names none", async () => {
    const w = world();
    for (const payload of [payloads.claude("Stop"), payloads.codex("Stop"), payloads.gemini("AfterAgent"), { ...payloads.zcode("Stop") }])
      await w.run([], payload);
    expect(w.lines.filter((line) => line.type === "session").map((line) => line.client)).toEqual(["claude", "codex", "gemini", "zcode"]);
  });

  test("any other program: the event as an argument, plain text back", async () => {
    const w = world({ texts: [text] });
    const run = await w.run(["other", "prompt"], { session_id: "mine", title: "T" });
    expect(run.out).toBe(`${text}\n`);
    expect(w.lines[0]).toMatchObject({ type: "session", client: "other", cliSessionId: "mine", title: "T" });
  });

  test("any other program may name its process, if it is above the hook", async () => {
    const w = world({ texts: [text] });
    await w.run(["other", "prompt"], { session_id: "mine", pid: process.ppid });
    expect(w.lines[0]).toMatchObject({ host: { hostPid: process.ppid, hostStart: realSystem.processStart(process.ppid) } });
    expect(w.lines[0]).not.toHaveProperty("pid");
  });
});

test("a person who asks gets help", async () => {
  for (const args of [["--help"], ["other", "-h"]]) {
    const run = await runHook("/nowhere", args, "");
    expect(run).toMatchObject({ err: "", status: 0 });
    expect(run.out.replace(/\s+/g, " ")).toContain("renn hook other EVENT");
  }
});

test("what any other program does wrong stands in hook.log, and nothing is sent", async () => {
  const events = "the event must be one of session-start, prompt, post-tool, stop, session-end";
  const id = "session_id must be a text of 1 to 200 characters";
  const cases: [args: string[], payload: object, reason: string][] = [
    [["other", "Stop"], { session_id: "mine" }, `other Stop: ${events}`],
    [["other"], { session_id: "mine" }, `other -: ${events}`],
    [["other", "stop"], {}, `other stop: ${id}`],
    [["other", "stop"], { session_id: 7 }, `other stop: ${id}`],
    [
      ["other", "stop"],
      { session_id: "mine", pid: 2 ** 31 },
      "other stop: pid 2147483648 is no process above this one that could be a session",
    ],
    [["other", "stop"], { session_id: "mine", pid: "7" }, "other stop: pid must be a whole number"],
  ];
  const w = world({ texts: [text], block: true });
  for (const [args, payload] of cases) expect(await w.run(args, payload)).toMatchObject({ out: "", err: "", status: 0 });
  const logged = w.log().trimEnd().split("\n");
  expect(logged.map((line) => line.replace(/^\S+ /, ""))).toEqual(cases.map(([, , reason]) => reason));
  expect(w.lines).toEqual([]);
});

describe("what is left alone", () => {
  const quiet: [what: string, args: string[], input: string | object, env?: Record<string, string>][] = [
    ["a subagent of Claude", ["claude"], payloads.claude("PostToolUse", { agent_id: "a1" })],
    ["a subagent of Codex", ["codex"], payloads.codex("UserPromptSubmit", { agent_id: "a1" })],
    ["an event that we do not use", ["claude"], payloads.claude("PreToolUse")],
    ["a name of an object's own", ["claude"], payloads.claude("constructor")],
    ["Codex's payload in Claude's hook", ["claude"], payloads.codex("Stop")],
    ["Gemini's payload in Claude's hook", ["claude"], payloads.gemini("SessionStart")],
    ["Claude's payload in Codex's hook", ["codex"], payloads.claude("Stop")],
    ["another session's id", ["claude"], payloads.claude("Stop"), { CLAUDE_PID: "1", CLAUDE_CODE_SESSION_ID: "someone-else" }],
    ["another Gemini session's id", ["gemini"], payloads.gemini("AfterAgent"), { GEMINI_SESSION_ID: "someone-else" }],
    ["no session id", ["claude"], { hook_event_name: "Stop" }],
    ["an id that is no text", ["claude"], payloads.claude("Stop", { session_id: 7 })],
    ["an id that is too long", ["claude"], payloads.claude("Stop", { session_id: "x".repeat(201) })],
    ["a list", ["claude"], "[1]"],
    ["nothing", ["claude"], ""],
    ["no JSON", ["claude"], "{"],
  ];
  for (const [what, args, input, env] of quiet)
    test(what, async () => {
      const w = world({ texts: [text], block: true });
      const run = await w.run(args, input, env);
      expect(run).toMatchObject({ out: args[0] === "gemini" ? "{}" : "", err: "", status: 0 });
      expect(w.lines).toEqual([]);
    });

  test("a payload cut anywhere says nothing and touches nobody", async () => {
    const w = world({ texts: [text] });
    const whole = JSON.stringify(payloads.claude("UserPromptSubmit"));
    const cuts = [1, Math.floor(whole.length / 3), Math.floor(whole.length / 2), whole.length - 1];
    const runs = await Promise.all(cuts.map((n) => w.run(["claude"], whole.slice(0, n))));
    expect(runs.map((run) => `${run.status}${run.out}${run.err}`)).toEqual(cuts.map(() => "0"));
    expect(w.lines).toEqual([]);
  });

  test("a payload of 10 MB is understood or given up in time", async () => {
    const w = world({ texts: [text] });
    const run = await w.run(["claude"], payloads.claude("PostToolUse", { tool_response: { stdout: "é".repeat(5_000_000) } }));
    expect(run).toMatchObject({ err: "", status: 0 });
    expect(["", context("PostToolUse", text)]).toContain(run.out);
  });
});

describe("when the bus is not well", () => {
  const stop = payloads.claude("Stop");

  function home() {
    const made = emptyHome();
    worlds.push({ end: made.remove });
    return made;
  }

  test("a broker that never answers: in time, no output, one line in hook.log", async () => {
    const paths = home();
    const mute = Bun.listen({ unix: paths.socket, socket: { data() {} } });
    const run = await runHook(paths.home, ["claude"], stop, {}, 1);
    mute.stop(true);
    expect(run).toMatchObject({ out: "", err: "", status: 0 });
    expect(run.ms).toBeLessThan(10_000);
    expect(readFileSync(paths.hookLog, "utf8")).toMatch(/^\S+ claude Stop: no answer within 300 ms\n$/);
    expect(statSync(paths.hookLog).mode & 0o777).toBe(0o600);
  });

  test("a home that is open to others: no token is sent", async () => {
    const w = world({ texts: [text] });
    chmodSync(w.home.home, 0o755);
    expect(await w.run(["claude"], stop)).toMatchObject({ out: "", err: "", status: 0 });
    expect(w.chunks).toEqual([]);
  });

  test("a sandbox starts no broker", async () => {
    const paths = home();
    expect(await runHook(paths.home, ["claude"], payloads.claude("SessionStart"), { CODEX_SANDBOX: "seccomp" })).toMatchObject({
      out: "",
      status: 0,
    });
    expect(existsSync(paths.socket)).toBe(false);
    expect(readFileSync(paths.hookLog, "utf8")).toContain("sandbox");
  });

  test("a refusal of the broker is no output", async () => {
    const paths = home();
    const broker = fakeBroker(paths, (line, reply) =>
      reply({ id: line.id, ok: false, error: { code: "internal", message: "\u001b[31mno" } }),
    );
    const run = await runHook(paths.home, ["claude"], stop);
    broker.stop();
    expect(run).toMatchObject({ out: "", err: "", status: 0 });
    expect(readFileSync(paths.hookLog, "utf8")).toMatch(/^\S+ claude Stop: the broker refused: internal: \\u001b\[31mno\n$/);
  });
});
