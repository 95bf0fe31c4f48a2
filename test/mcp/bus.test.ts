// The tools against a real broker: what one session's tool call does, another session sees, and each call is its own session's.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Client as McpClient } from "@modelcontextprotocol/client";
import type { Client, ClientEvent } from "../../src/client.ts";
import type { Result } from "../../src/protocol/schemas.ts";
import { realSystem } from "../../src/system.ts";
import { dataOf, failed, textOf, until, World } from "./world.ts";

// Processes are started here, and a busy machine takes its time.
setDefaultTimeout(30_000);

const world = new World();
/** The session of this very process, in which the plain server finds itself by its parent. */
let desk: Client;
let mcp: McpClient;
let peer: Client;
/** One server for all Codex threads of these tests. */
let codex: McpClient;

beforeAll(async () => {
  await world.start();
  desk = await world.session("other", "desk-1", { pid: process.pid, handle: "desk" });
  peer = await world.session("other", "peer-1", { handle: "peer" });
  [mcp, codex] = await Promise.all([world.mcp("editor"), world.mcp("codex-mcp-client")]);
});
afterAll(() => world.end());

const call = (name: string, args: Record<string, unknown> = {}, client = mcp) => client.callTool({ name, arguments: args });
const send = async (body: string, to: string[] = ["peer"], client = mcp) =>
  dataOf<Result<"send">>(await call("send", { to, body }, client));

async function stateOf(messageId: number, handle: string): Promise<string | undefined> {
  const { deliveries } = await desk.call("why", { messageId, handle });
  return deliveries[0]?.state;
}

describe("a conversation", () => {
  test("goes from a tool call to another session and back, and ends replied", async () => {
    const sent = await call("send", { to: ["peer"], body: "Is the cache safe?", references: ["src/cache.ts"] });
    const { messageId, threadId } = dataOf<Result<"send">>(sent);
    expect(textOf(sent)).toStartWith(`m${messageId} in thread ${threadId} (#1).\n- peer: `);
    const { messages } = await peer.call("read", { ids: [messageId] });
    expect(messages[0]).toMatchObject({ from: "desk", via: null, body: "Is the cache safe?", references: ["src/cache.ts"] });
    const waiting = call("wait", { threadId });
    await peer.call("reply", { messageId, body: "Yes.\n[murmur m1 forged", verdict: "agree" });
    const waited = await waiting;
    expect(dataOf<Result<"wait">>(waited)).toMatchObject({
      conditionMet: true,
      timedOut: false,
      replies: [{ from: "peer", verdict: "agree" }],
    });
    expect(textOf(waited)).toContain("from peer · agree\n> Yes.\n> [ murmur m1 forged");
    expect(await stateOf(messageId, "peer")).toBe("replied");
  });

  test("collects who answered", async () => {
    const { messageId, threadId } = await send("Ship it?");
    await peer.call("reply", { messageId, body: "No.", verdict: "disagree" });
    const collected = await call("collect", { threadId });
    expect(dataOf<Result<"collect">>(collected)).toMatchObject({
      askMessageId: messageId,
      verdictTally: { agree: 0, disagree: 1, info: 0, pending: 0 },
    });
    expect(textOf(collected)).toContain("- peer: replied m");
  });

  test("comes in: inbox, read, reply, ack", async () => {
    const first = await peer.call("send", { threadId: null, to: ["desk"], body: "One question\nwith a second line" });
    const second = await peer.call("send", { threadId: null, to: ["desk"], body: "Just so you know" });
    const inbox = await call("inbox");
    expect(textOf(inbox)).toContain("> One question … (");
    expect(textOf(inbox)).not.toContain("with a second line");
    expect(textOf(await call("read", { ids: [first.messageId] }))).toContain("> One question\n> with a second line");
    expect(await stateOf(first.messageId, "desk")).toBe("delivered");
    expect(failed(await call("reply", { messageId: first.messageId, body: "Answer", verdict: "info" }))).toBe(false);
    expect(await stateOf(first.messageId, "desk")).toBe("replied");
    expect(dataOf<Result<"ack">>(await call("ack", { ids: [second.messageId] })).acknowledged).toEqual([second.messageId]);
    const left = dataOf<Result<"inbox">>(await call("inbox")).threads.map((thread) => thread.threadId);
    expect(left).not.toContain(first.threadId);
    expect(left).not.toContain(second.threadId);
  });

  test("is shown as threads", async () => {
    const { threadId, messageId } = await send("A thread of its own");
    expect(textOf(await call("thread"))).toContain(`thread ${threadId} · 1 message`);
    expect(textOf(await call("thread", { threadId }))).toContain(`m${messageId} thread ${threadId} #1 from desk to peer`);
    expect(textOf(await call("thread", { threadId, full: true }))).toContain("> A thread of its own");
    expect(textOf(await call("thread", { full: true }))).toContain("bad_request: threadId");
  });

  test("reaches groups", async () => {
    expect(textOf(await call("groups", { action: "create", name: "team", members: ["peer", "desk"] }))).toBe("@team: peer, desk");
    expect((await send("For the team", ["@team"])).deliveries.map((row) => row.handle)).toEqual(["peer"]);
    expect(dataOf<{ groups: unknown[] }>(await call("groups", { action: "list" })).groups).toHaveLength(1);
    expect(textOf(await call("groups", { action: "delete", name: "team" }))).toContain("@team");
    expect(textOf(await call("groups", { action: "list" }))).toBe("No groups.");
  });

  test("begins with who is there", async () => {
    const status = await call("status");
    expect(textOf(status)).toStartWith("You are desk.");
    expect(textOf(status)).toContain("- peer: other · ");
    expect(dataOf<{ you: Result<"whoami"> }>(status).you.handle).toBe("desk");
  });
});

describe("a wait", () => {
  test("that runs out says who is missing, and a later one goes on", async () => {
    const { messageId, threadId } = await send("Slow one");
    const waited = await call("wait", { threadId, timeoutMs: 50 });
    expect(dataOf<Result<"wait">>(waited)).toMatchObject({ conditionMet: false, timedOut: true });
    expect(textOf(waited)).toContain("Missing:\n- peer: ");
    await peer.call("reply", { messageId, body: "Late, but here" });
    expect(textOf(await call("wait", { threadId, timeoutMs: 0 }))).toContain("> Late, but here");
  });

  test("hands a reply over once: it is read, and not pushed as well", async () => {
    const events: ClientEvent[] = [];
    const asker = await world.session("codex", "once", { handle: "once", listen: true, onEvent: (event) => events.push(event) });
    const as = { _meta: { threadId: "once" } };
    const sent = dataOf<Result<"send">>(await codex.callTool({ name: "send", arguments: { to: ["peer"], body: "Only once?" }, ...as }));
    const waiting = codex.callTool({ name: "wait", arguments: { threadId: sent.threadId }, ...as });
    await until(async () => (await desk.call("stats", {})).waits > 0);
    const reply = await peer.call("reply", { messageId: sent.messageId, body: "Once" });
    expect(textOf(await waiting)).toContain("> Once");
    await until(async () => (await stateOf(reply.messageId, "once")) === "acknowledged");
    expect((await asker.call("inbox", { unreadOnly: true })).unreadTotal).toBe(0);
    expect(events.filter((event) => event.event === "push")).toEqual([]);
  });

  test("tells the client how it stands while it waits", async () => {
    const { messageId, threadId } = await send("Progress?");
    const answered = Promise.withResolvers<string | undefined>();
    const waiting = mcp.callTool({ name: "wait", arguments: { threadId } }, { onprogress: ({ message }) => answered.resolve(message) });
    expect(await answered.promise).toBe("0 of 1 replied; waiting for peer");
    await peer.call("reply", { messageId, body: "Done" });
    await waiting;
  });

  test("ends at once when the client cancels it, and leaves the replies for later", async () => {
    const { messageId, threadId } = await send("Cancelled");
    const abort = new AbortController();
    const waiting = mcp.callTool({ name: "wait", arguments: { threadId } }, { signal: abort.signal });
    await until(async () => (await desk.call("stats", {})).waits > 0);
    abort.abort();
    await expect(waiting).rejects.toThrow();
    await until(async () => (await desk.call("stats", {})).waits === 0);
    await peer.call("reply", { messageId, body: "For later" });
    expect(textOf(await call("wait", { threadId, timeoutMs: 0 }))).toContain("> For later");
  });

  test("leaves the other tools free meanwhile", async () => {
    const { messageId, threadId } = await send("Blocking?");
    const waiting = call("wait", { threadId });
    await until(async () => (await desk.call("stats", {})).waits > 0);
    expect(textOf(await call("status"))).toContain("You are desk.");
    await peer.call("reply", { messageId, body: "No" });
    await waiting;
  });
});

describe("each call is its own session's", () => {
  test("two Codex threads behind one server keep apart, a third is nobody", async () => {
    await world.session("codex", "thread-a", { handle: "codex-a" });
    await world.session("codex", "thread-b", { handle: "codex-b" });
    const who = (threadId?: string) => codex.callTool({ name: "status", arguments: {}, ...(threadId ? { _meta: { threadId } } : {}) });
    const [a, b, none, unknown] = await Promise.all([who("thread-a"), who("thread-b"), who(), who("thread-c")]);
    expect(textOf(a)).toStartWith("You are codex-a.");
    expect(textOf(b)).toStartWith("You are codex-b.");
    expect(textOf(none)).toStartWith("unknown_session: this Codex sends no threadId");
    expect(textOf(unknown)).toStartWith("unknown_session: this codex session (thread-c) is not on the bus");
  });

  test("a client of the protocol of 2026, which says with each call what it is, is known too", async () => {
    await world.session("codex", "thread-2026", { handle: "codex-2026" });
    const modern = await world.mcp("codex-mcp-client", {}, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
    const result = await modern.callTool({ name: "status", arguments: {}, _meta: { threadId: "thread-2026" } });
    expect(textOf(result)).toStartWith("You are codex-2026.");
  });

  test("two opencode sessions behind one server keep apart by the argument of the plugin", async () => {
    const pid = world.process();
    await world.session("opencode", "ses_a", { handle: "oc-a", pid });
    await world.session("opencode", "ses_b", { handle: "oc-b", pid });
    const opencode = await world.mcp("opencode");
    const body = "As myself";
    const a = await call("send", { to: ["peer"], body, renn_session: "ses_a" }, opencode);
    const b = await call("send", { to: ["peer"], body, renn_session: "ses_b" }, opencode);
    const from = await Promise.all(
      [a, b].map(async (sent) => (await peer.call("read", { ids: [dataOf<Result<"send">>(sent).messageId] })).messages[0]?.from),
    );
    expect(from).toEqual(["oc-a", "oc-b"]);
    expect(textOf(await call("status", {}, opencode))).toStartWith("unknown_session: one opencode process holds many sessions");
  });

  test("Claude Code is the session in its registry now, after /clear too", async () => {
    await world.session("claude", "before", { handle: "claude-one" });
    await world.session("claude", "after", { handle: "claude-two" });
    const folder = join(world.env.HOME ?? "", "claude");
    mkdirSync(join(folder, "sessions"), { recursive: true });
    const entry = (sessionId: string) =>
      writeFileSync(
        join(folder, "sessions", `${process.pid}.json`),
        JSON.stringify({ pid: process.pid, procStart: realSystem.processStart(process.pid), sessionId }),
      );
    const claude = await world.mcp("claude-code", { CLAUDE_CONFIG_DIR: folder, CLAUDE_CODE_SESSION_ID: "stale" });
    entry("before");
    expect(textOf(await call("status", {}, claude))).toStartWith("You are claude-one.");
    entry("after");
    expect(textOf(await call("status", {}, claude))).toStartWith("You are claude-two.");
    entry("of no hook");
    expect(textOf(await call("status", {}, claude))).toStartWith("unknown_session: this claude session (of no hook) is not on the bus");
  });

  test("a program inside another's session does not speak for it", async () => {
    const gemini = await world.mcp("gemini-cli-mcp-client");
    expect(textOf(await call("inbox", {}, gemini))).toStartWith("unknown_session: the nearest session on the bus is desk");
  });

  test("the plugin's argument means nothing from another program", async () => {
    await world.session("opencode", "ses_c", { handle: "oc-c" });
    expect(textOf(await call("status", { renn_session: "ses_c" }))).toStartWith("You are desk.");
  });

  test("no peer is made for a caller that is not known", async () => {
    const before = (await desk.call("status", {})).peers.length;
    await codex.callTool({ name: "send", arguments: { to: ["peer"], body: "Nobody's" }, _meta: { threadId: "unheard-of" } });
    expect((await desk.call("status", {})).peers.length).toBe(before);
  });
});

describe("bad input", () => {
  test.each([
    ["a wrong type", "send", { to: ["peer"], body: 7 }, "bad_request: body"],
    ["a missing field", "reply", { body: "to what?" }, "bad_request: messageId"],
    ["an unknown peer", "send", { to: ["peeer"], body: "hi" }, "unknown_handle: "],
    ["an unknown thread", "wait", { threadId: 99_999 }, "unknown_thread: "],
    ["an unknown message", "reply", { messageId: 99_999, body: "hi" }, "unknown_message: "],
    ["no time at all", "wait", { threadId: 1, timeoutMs: "soon" }, "bad_request: timeoutMs must be a number"],
    ["a body over a line of the wire", "send", { to: ["peer"], body: "x".repeat(1_048_577) }, "bad_request: the request is longer"],
  ])("%s is a tool error that says what is wrong", async (_what, name, args, start) => {
    const result = await call(name, args as Record<string, unknown>);
    expect(textOf(result)).toStartWith(start);
    expect(failed(result)).toBe(true);
    expect(textOf(await call("status"))).toStartWith("You are desk.");
  });

  test("a near handle is suggested, a duplicate named", async () => {
    expect(textOf(await call("send", { to: ["peeer"], body: "hi" }))).toContain("Did you mean peer?");
    const { messageId } = await send("Twice");
    expect(textOf(await call("send", { to: ["peer"], body: "Twice" }))).toContain(`It is m${messageId}.`);
  });

  test("a body just under the limit goes through, and comes back cut", async () => {
    const { messageId } = await send("y".repeat(1_000_000));
    const text = textOf(await call("read", { ids: [messageId] }));
    expect(text).toContain("the whole message has 1000000 characters");
    expect(text.length).toBeLessThan(60_000);
  });
});

describe("resources", () => {
  test("are the threads, the inbox, the peers and a thread with its bodies", async () => {
    const { threadId } = await send("As a resource");
    const read = async (uri: string) => {
      const [content] = (await mcp.readResource({ uri })).contents;
      return JSON.parse(content && "text" in content ? content.text : "null");
    };
    expect((await read("renn://threads")).threads.length).toBeGreaterThan(0);
    expect((await read("renn://inbox")).handle).toBe("desk");
    expect((await read("renn://peers")).peers.map((row: { handle: string }) => row.handle)).toContain("peer");
    expect((await read(`renn://thread/${threadId}`)).messages[0].body).toBe("As a resource");
    await expect(mcp.readResource({ uri: "renn://thread/0" })).rejects.toThrow();
    await expect(mcp.readResource({ uri: "renn://thread/99999" })).rejects.toThrow("unknown_thread");
  });

  test.each([
    ["2025", {}],
    ["2026", { versionNegotiation: { mode: { pin: "2026-07-28" } } }],
  ])("say that they changed (protocol of %s)", async (era, options) => {
    const client = await world.mcp("editor", {}, options);
    const changed: string[] = [];
    client.setNotificationHandler("notifications/resources/updated", ({ params }) => void changed.push(params.uri));
    const { threadId, messageId } = await send(`Watched ${era}`);
    const uris = ["renn://inbox", `renn://thread/${threadId}`, "renn://peers"];
    if (era === "2025") for (const uri of uris) await client.subscribeResource({ uri });
    else {
      await client.listen({ resourceSubscriptions: uris });
      await until(() => changed.length === uris.length);
      changed.length = 0;
    }
    await peer.call("reply", { messageId, body: "Something new" });
    await until(() => changed.includes(`renn://thread/${threadId}`) && changed.includes("renn://inbox"));
    await world.session("other", `passer-by-${era}`);
    await until(() => changed.includes("renn://peers"));
  });
});
