// The plugins as init writes them, loaded into a stand-in for the program that they run in.
import { afterEach, describe, expect, setSystemTime, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { pluginText } from "../../src/clis/plugins.ts";
import { emptyHome, fakeBroker, type Line } from "../fake-broker.ts";
import { until } from "./until.ts";

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

const text = (id: number) => `[murmur m${id} thread 7 #3 from renn to x]\nhello ${id}`;

/**
 * A broker whose sessions have an intro, and the plugin for it. `push` sends to whoever listens. `down` has no broker; `slow` hands m42 to a session that starts,
 * and meanwhile the program stands still for longer than a plugin may take.
 */
async function world(name: "opencode" | "hummin", how?: "down" | "slow") {
  const home = emptyHome();
  const lines: Line[] = [];
  const listeners: ((frame: object) => void)[] = [];
  const broker =
    how === "down"
      ? null
      : fakeBroker(home, (line, answer) => {
          lines.push(line);
          if (line.handle === "taken") return answer({ id: line.id, ok: false, error: { code: "bad_request", message: "handle: taken" } });
          if (line.type === "session" && line.listen === true && !listeners.includes(answer)) listeners.push(answer);
          const slow = how === "slow" && line.type === "hook" && line.event === "session-start";
          for (const end = performance.now() + 1_100; slow && performance.now() < end; );
          const payload = {
            handle: "x",
            texts: slow ? [text(42)] : [],
            notifications: [],
            more: 0,
            block: false,
            ...(line.event === "session-start" && { intro: "You are x." }),
          };
          answer({ id: line.id, ok: true, result: line.type === "hook" ? payload : { handle: "x" } });
        });
  const file = `${home.home}/renn-${Math.random()}.${name === "hummin" ? "ts" : "js"}`;
  writeFileSync(file, pluginText(name, home.home, "/bin/false"));
  ends.push(() => {
    broker?.stop();
    home.remove();
  });
  const push = (id: number, mode = "push") =>
    listeners.at(-1)?.({ type: "event", event: "push", payload: { message: { id }, mode, footer: "", text: text(id) } });
  const delivered = () => lines.filter((line) => line.type === "delivered").map((line) => line.ids);
  return { module: await import(file), lines, push, delivered, listening: () => listeners.length > 0 };
}

describe("opencode", () => {
  async function opencode(how?: "down" | "slow") {
    const w = await world("opencode", how);
    const prompts: { path: { id: string }; body: { parts: { text: string }[] } }[] = [];
    const infos: Record<string, object> = {
      s1: { id: "s1", title: "New session - 2026-12-01T00:00:00Z", directory: "/w" },
      c1: { id: "c1", parentID: "s1" },
    };
    const client = {
      session: {
        get: async ({ path }: { path: { id: string } }) => ({ data: infos[path.id] }),
        promptAsync: async (prompt: (typeof prompts)[number]) => void prompts.push(prompt),
      },
    };
    const hooks = await w.module.Renn({ client });
    const prompt = async (sessionID: string, id: string, own: string) => {
      const output = { message: { id }, parts: [{ type: "text", text: own }] as { type: string; text: string; synthetic?: boolean }[] };
      await hooks["chat.message"]({ sessionID }, output);
      return output.parts.map((part) => part.text);
    };
    const event = (type: string, properties: object) => hooks.event({ event: { type, properties } });
    const answer = (parentID: string, more: object = {}) =>
      event("message.updated", {
        info: { sessionID: "s1", role: "assistant", parentID, finish: "stop", time: { created: Date.now() }, ...more },
      });
    return { ...w, hooks, prompts, prompt, event, answer };
  }

  test("a prompt takes what waits, and a finished answer to it confirms", async () => {
    const o = await opencode();
    expect(await o.prompt("s1", "msg_1", "hi")).toEqual(["hi", "You are x."]);
    expect(o.lines[0]).toMatchObject({
      type: "session",
      event: "session-start",
      client: "opencode",
      cliSessionId: "s1",
      cwd: "/w",
      listen: true,
    });
    o.push(42, "notify");
    o.push(43, "notify");
    await o.event("session.status", { sessionID: "s1", status: { type: "busy" } });
    await until(() => o.lines.filter((line) => line.type === "session").length === 2);
    expect(await o.prompt("s1", "msg_2", "more")).toEqual(["more", `${text(42)}\n\n${text(43)}`]);
    await o.answer("msg_2", { finish: undefined });
    await o.answer("msg_2", { error: {} });
    await o.answer("msg_1");
    expect(o.delivered()).toEqual([]);
    await o.answer("msg_2");
    await until(() => o.delivered().length === 1);
    expect(o.delivered()).toEqual([[42, 43]]);
  });

  test("an idle session is woken by one prompt for all that came, which is confirmed by its answer", async () => {
    const o = await opencode();
    await o.prompt("s1", "msg_1", "hi");
    o.push(42);
    o.push(43);
    await until(() => o.prompts.length === 1);
    const pushed = o.prompts[0]?.body.parts[0]?.text ?? "";
    expect(pushed).toBe(`${text(42)}\n\n${text(43)}`);
    expect(await o.prompt("s1", "msg_2", pushed)).toEqual([pushed]);
    await o.answer("msg_2");
    await until(() => o.delivered().length === 1);
    o.push(42);
    await until(() => o.delivered().length === 2);
    expect(o.delivered()).toEqual([[42, 43], [42]]);
    expect(o.prompts.length).toBe(1);
  });

  test("what comes again is not shown twice, until the bus has given it up for lost", async () => {
    const o = await opencode();
    await o.prompt("s1", "msg_1", "hi");
    o.push(42);
    await until(() => o.prompts.length === 1);
    o.push(42);
    o.push(43);
    await until(() => o.prompts.length === 2);
    expect(o.prompts[1]?.body.parts[0]?.text).toBe(text(43));
    setSystemTime(Date.now() + 120_000);
    o.push(42);
    await until(() => o.prompts.length === 3).finally(() => setSystemTime());
    expect(o.prompts[2]?.body.parts[0]?.text).toBe(text(42));
  });

  test("what comes too late for a prompt is not said to be in it, and goes into the next", async () => {
    const o = await opencode("slow");
    expect(await o.prompt("s1", "msg_1", "hi")).toEqual(["hi"]);
    expect(await o.prompt("s1", "msg_2", "more")).toEqual(["more", `You are x.\n\n${text(42)}`]);
    await o.answer("msg_1");
    expect(o.delivered()).toEqual([]);
    await o.answer("msg_2");
    await until(() => o.delivered().length === 1);
    expect(o.delivered()).toEqual([[42]]);
  });

  test("between tool calls", async () => {
    const o = await opencode();
    await o.prompt("s1", "msg_1", "hi");
    o.push(42, "notify");
    await o.event("session.idle", { sessionID: "s1" });
    await until(() => o.lines.some((line) => line.event === "stop"));
    const output = { output: "files" };
    await o.hooks["tool.execute.after"]({ sessionID: "s1" }, output);
    expect(output.output).toBe(`files\n\n${text(42)}`);
    await o.answer("msg_1", { time: { created: 1 } });
    expect(o.delivered()).toEqual([]);
    await o.answer("msg_1", { time: { created: Date.now() + 1 } });
    await until(() => o.delivered().length === 1);
  });

  test("subagents get nothing and speak as the session that started them", async () => {
    const o = await opencode();
    await o.event("session.created", { info: { id: "s1", directory: "/w", title: "New session - 2026-12-01" } });
    await o.event("session.created", { info: { id: "c1", parentID: "s1" } });
    expect(await o.prompt("c1", "msg_1", "do it")).toEqual(["do it"]);
    const before = { args: {} };
    await o.hooks["tool.execute.before"]({ tool: "renn_send", sessionID: "c1" }, before);
    const shell = { env: {} };
    await o.hooks["shell.env"]({ sessionID: "c1" }, shell);
    expect(before.args).toEqual({ renn_session: "s1" });
    expect(shell.env).toMatchObject({ RENN_SESSION: "s1" });
    await until(() => o.lines.some((line) => line.type === "session"));
    expect(new Set(o.lines.filter((line) => line.type === "session").map((line) => line.cliSessionId))).toEqual(new Set(["s1"]));
  });

  test("only a title that replaced opencode's own is the user's", async () => {
    const o = await opencode();
    await o.prompt("s1", "msg_1", "hi");
    const rename = (title: string) => o.event("session.updated", { info: { id: "s1", title } });
    await rename("Made by opencode");
    await rename("Mine");
    await until(() => o.lines.some((line) => line.title === "Mine"));
    expect(o.lines.some((line) => line.title === "Made by opencode")).toBe(false);
  });

  test("without a broker, and with inputs that make no sense, nothing fails", async () => {
    const o = await opencode("down");
    expect(await o.prompt("s1", "msg_1", "hi")).toEqual(["hi"]);
    for (const type of [
      "session.created",
      "session.updated",
      "session.deleted",
      "message.updated",
      "session.status",
      "of-tomorrow",
      "constructor",
    ])
      expect(await o.event(type, { info: null, sessionID: {} })).toBeUndefined();
    expect(await o.hooks["tool.execute.after"]({}, {})).toBeUndefined();
    expect(await o.hooks["tool.execute.before"]({}, {})).toBeUndefined();
    expect(await o.hooks["chat.message"]({ sessionID: "s1" }, {})).toBeUndefined();
  });
});

describe("hummin", () => {
  async function hummin(how?: "slow") {
    const w = await world("hummin", how);
    const handlers = new Map<string, (event: object, ctx: object) => Promise<unknown>>();
    const sent: { message: { content: string }; options: object }[] = [];
    w.module.default({
      on: (name: string, handler: (event: object, ctx: object) => Promise<unknown>) => handlers.set(name, handler),
      sendMessage: (message: { content: string }, options: object) => sent.push({ message, options }),
      getSessionName: () => undefined,
    });
    const ctx = { cwd: "/w", hasUI: true, sessionManager: { getSessionId: () => "p1", getSessionFile: () => "/s/p1.jsonl" } };
    const fire = async (name: string, event: object = {}) => handlers.get(name)?.(event, ctx);
    await fire("session_start", { reason: "startup" });
    if (how !== "slow") await until(w.listening);
    return { ...w, sent, fire };
  }

  test("the session has the name that RENN_HANDLE gives it, or joins without where that is taken", async () => {
    const handles: unknown[] = [];
    for (const name of ["api", "taken"]) {
      process.env.RENN_HANDLE = name;
      ends.push(() => delete process.env.RENN_HANDLE);
      const h = await hummin();
      handles.push(h.lines.filter((line) => line.type === "session").map((line) => line.handle));
    }
    expect(handles).toEqual([["api"], ["taken", undefined]]);
  });

  test("an idle session is woken, a running one is steered, and an answered request confirms", async () => {
    const h = await hummin();
    await until(() => h.lines.some((line) => line.type === "hook"));
    h.push(42);
    await until(() => h.sent.length === 1);
    expect(h.sent[0]).toMatchObject({ message: { customType: "renn" }, options: { deliverAs: "followUp", triggerTurn: true } });
    expect(h.sent[0]?.message.content).toContain(text(42));
    await h.fire("agent_start");
    h.push(43);
    await until(() => h.sent.length === 2);
    expect(h.sent[1]?.options).toMatchObject({ deliverAs: "steer" });
    await h.fire("context", { messages: [h.sent[0]?.message, { role: "user" }] });
    await h.fire("message_end", { message: { role: "assistant", stopReason: "error" } });
    expect(h.delivered()).toEqual([]);
    await h.fire("context", { messages: [h.sent[0]?.message] });
    await h.fire("message_end", { message: { role: "assistant", stopReason: "stop" } });
    await until(() => h.delivered().length === 1);
    expect(h.delivered()).toEqual([[42]]);
  });

  test("what comes too late for a turn goes into the next", async () => {
    const h = await hummin("slow");
    expect(await h.fire("before_agent_start")).toBeUndefined();
    expect(await h.fire("before_agent_start")).toMatchObject({ message: { content: `You are x.\n\n${text(42)}` } });
  });

  test("what waits goes into the turn that begins; the end is told", async () => {
    const h = await hummin();
    await until(() => h.lines.some((line) => line.type === "hook"));
    expect(await h.fire("before_agent_start")).toMatchObject({ message: { customType: "renn", content: "You are x." } });
    await h.fire("session_shutdown", { reason: "quit" });
    await until(() => h.lines.some((line) => line.event === "session-end"));
    expect(h.lines[0]).toMatchObject({ client: "hummin", cliSessionId: "p1", transcriptPath: "/s/p1.jsonl", source: "startup" });
  });
});
