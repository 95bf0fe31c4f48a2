// What people and agents do with the commands: ask, answer, wait, look.
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Result } from "../../src/protocol/schemas.ts";
import { rennCommand } from "../binary.ts";
import { cliWorld, type World } from "./world.ts";

let world: World;
beforeAll(async () => {
  world = cliWorld();
  await world.json(["broker", "start"]);
  for (const handle of ["api", "web", "docs"]) await world.json(["whoami", "--as", handle]);
}, 20_000);
afterAll(() => world.end());

const send = (args: string[]) => world.json<Result<"send">>(["send", ...args]);

test("ask, answer with a verdict, wait, collect", async () => {
  const sent = await send(["api", "web", "Shall we?"]);
  expect(sent.deliveries.map((row) => [row.handle, row.state])).toEqual([
    ["api", "queued"],
    ["web", "queued"],
  ]);
  const waiting = world.json<Result<"wait">>(["wait", String(sent.threadId), "--timeout", "20s"]);
  const first = await world.json<Result<"reply">>(["reply", `m${sent.messageId}`, "Yes", "--agree", "--as", "api"]);
  expect(first.threadId).toBe(sent.threadId);
  await world.json(["reply", String(sent.messageId), "-", "--disagree", "--as", "web"], { input: "No,\nnever\n" });
  const waited = await waiting;
  expect(waited.conditionMet).toBe(true);
  expect(waited.matrix.map((row) => [row.handle, row.verdict])).toEqual([
    ["api", "agree"],
    ["web", "disagree"],
  ]);
  expect(waited.replies.map((reply) => reply.body)).toEqual(["Yes", "No,\nnever"]);
  const collected = await world.json<Result<"collect">>(["collect", String(sent.threadId)]);
  expect(collected.verdictTally).toEqual({ agree: 1, disagree: 1, info: 0, pending: 0 });
}, 20_000);

test("a reply that a wait handed over is no longer unread", async () => {
  const sent = await send(["docs", "Anything new?"]);
  await world.json(["reply", String(sent.messageId), "Nothing", "--as", "docs"]);
  await world.json(["wait", String(sent.threadId)]);
  const inbox = await world.json<Result<"inbox">>(["inbox"]);
  expect(inbox.threads.filter((thread) => thread.threadId === sent.threadId)).toEqual([]);
}, 20_000);

test("send --wait gives the answer with the send, and may stand before the recipients", async () => {
  const asked = world.json<Result<"send"> & { wait: Result<"wait"> }>(["send", "--wait", "api", "Still there?", "--timeout", "20s"]);
  const inbox = async () => (await world.json<Result<"inbox">>(["inbox", "--as", "api"])).threads.flatMap((thread) => thread.messages);
  let ask = (await inbox()).find((message) => message.firstLine === "Still there?");
  for (const deadline = Date.now() + 10_000; !ask && Date.now() < deadline; )
    ask = (await inbox()).find((m) => m.firstLine === "Still there?");
  await world.json(["reply", String(ask?.id), "Here", "--as", "api"]);
  const { wait, deliveries } = await asked;
  expect(deliveries).toHaveLength(1);
  expect(wait.replies.map((reply) => [reply.from, reply.body])).toEqual([["api", "Here"]]);
}, 30_000);

test("a wait that runs out ends with status 4 and says who is missing", async () => {
  const sent = await send(["api", "web", "Quick?"]);
  await world.json(["reply", String(sent.messageId), "Quick", "--as", "web"]);
  const waited = await world.renn(["wait", String(sent.threadId), "--timeout", "0"]);
  expect(waited.status).toBe(4);
  expect(waited.stdout).toContain("timed out");
  expect(waited.stdout).toMatch(/^api +queued/m);
  expect((await world.renn(["wait", String(sent.threadId), "--any", "--timeout", "0"])).status).toBe(0);
}, 20_000);

test("a wait goes on for somebody at a shell, who is there only while a command runs", async () => {
  const client = await world.connect();
  await client.call("register", { clientKind: "cli", handle: "passer-by" });
  const sent = await send(["passer-by", "Once you are back?"]);
  client.close();
  const waiting = world.json<Result<"wait">>(["wait", String(sent.threadId), "--timeout", "25s"]);
  const observer = await world.connect();
  const presence = async () => (await observer.call("status", {})).peers.find((peer) => peer.handle === "passer-by")?.presence;
  for (const deadline = Date.now() + 15_000; (await presence()) !== "offline" && Date.now() < deadline; ) await Bun.sleep(50);
  await world.json(["reply", String(sent.messageId), "Back", "--as", "passer-by"]);
  expect((await waiting).replies.map((reply) => reply.body)).toEqual(["Back"]);
}, 40_000);

test("inbox shows and moves nothing, read shows all, ack ends it", async () => {
  await world.json(["ack", "--all", "--as", "docs"]);
  const long = `first line\n${"word ".repeat(1000)}end`;
  const sent = await world.json<Result<"send">>(["send", "docs", "-m", "-"], { input: `${long}\n` });
  const inbox = await world.renn(["inbox", "--as", "docs"]);
  expect(inbox.stdout).toContain("1 unread");
  expect(inbox.stdout).toContain("first line");
  expect(inbox.stdout).toContain("queued");
  expect((await world.renn(["inbox", "--count"], { env: { RENN_HANDLE: "docs" } })).stdout).toBe("1\n");
  const read = await world.json<Result<"read">>(["read", `m${sent.messageId}`, "--as", "docs"]);
  expect(read.messages.map((message) => [message.body, message.state])).toEqual([[long, "delivered"]]);
  expect(await world.json<object>(["ack", String(sent.messageId), "--as", "docs"])).toEqual({ acknowledged: [sent.messageId] });
  expect((await world.json<Result<"inbox">>(["inbox", "--as", "docs"])).unreadTotal).toBe(0);
}, 20_000);

test("groups are made, asked as one, changed and deleted", async () => {
  await world.json(["group", "create", "@team", "api", "web"]);
  await world.json(["group", "add", "team", "docs"]);
  await world.json(["group", "remove", "team", "web"]);
  expect((await world.renn(["group"])).stdout).toMatch(/^@team · api, docs · by renn, /m);
  const sent = await send(["@team", "To the team"]);
  expect(sent.deliveries.map((row) => row.handle).sort()).toEqual(["api", "docs"]);
  await world.json(["group", "delete", "team"]);
  expect(await world.json<object>(["group", "list"])).toEqual([]);
}, 20_000);

test("threads, search and export find what was said", async () => {
  const sent = await send(["api", "The zanzibar release", "--ref", "docs/plan.md"]);
  await send(["api", "Second word", "--thread", String(sent.threadId)]);
  const recent = await world.json<Result<"threads">>(["thread"]);
  expect(recent.threads[0]).toMatchObject({
    threadId: sent.threadId,
    latestSeq: 2,
    firstLine: "The zanzibar release",
    lastLine: "Second word",
  });
  const thread = await world.json<Result<"thread">>(["thread", String(sent.threadId), "--since", "1", "--full"]);
  expect(thread.messages.map((message) => message.body)).toEqual(["Second word"]);
  const found = await world.json<Result<"search">>(["search", "zanzibar"]);
  expect(found.results.map((message) => message.id)).toEqual([sent.messageId]);
  const exported = (await world.renn(["export", "--thread", String(sent.threadId)])).stdout.trimEnd().split("\n");
  expect(exported.map((line) => JSON.parse(line).body)).toEqual(["The zanzibar release", "Second word"]);
  const markdown = (await world.renn(["export", "--thread", String(sent.threadId), "--format", "md"])).stdout;
  expect(markdown).toContain("> The zanzibar release");
  expect(markdown).toContain("- docs/plan.md");
}, 20_000);

test("why tells state and advice; cancel takes back what is queued", async () => {
  const sent = await send(["web", "Never mind"]);
  const why = await world.renn(["why", String(sent.messageId), "web"]);
  expect(why.stdout).toMatch(/^web \(no CLI, \w+\): queued now, push$/m);
  expect(why.stdout).toContain("not handed over yet");
  const other = await send(["web", "This neither"]);
  const cancelled = await world.renn(["cancel", `m${sent.messageId}`, String(other.messageId), "--json"]);
  expect(
    cancelled.stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ).toEqual([sent, other].map(({ messageId }) => ({ messageId, cancelled: ["web"], kept: [] })));
  const read = await send(["web", "Too late"]);
  await world.json(["read", String(read.messageId), "--as", "web"]);
  const late = await world.renn(["cancel", String(read.messageId)]);
  expect([late.status, late.stdout]).toEqual([1, `m${read.messageId}: too late for web\n`]);
  expect(await world.json<object>(["ack", "--all", "--as", "web"])).not.toMatchObject({ acknowledged: [sent.messageId] });
}, 20_000);

test("a mute has a peer and a time, and ends", async () => {
  const muted = await world.json<Result<"mute">>(["mute", "api", "2h", "--as", "web"]);
  expect(muted.muted.map((m) => m.handle)).toEqual(["api"]);
  expect((muted.muted[0]?.until ?? 0) - Date.now()).toBeGreaterThan(7_000_000);
  expect(await world.json<object>(["mute", "api", "off", "--as", "web"])).toEqual({ muted: [] });
  expect((await world.json<Result<"mute">>(["mute", "30m", "--as", "web"])).muted.map((m) => m.handle)).toEqual([null]);
  await world.json(["mute", "off", "--as", "web"]);
  expect(await world.json<object>(["mute", "--as", "web"])).toEqual({ muted: [] });
  expect((await world.json<Result<"mute">>(["mute", "@all", "--as", "web"])).muted.map((m) => m.handle)).toEqual([null]);
  expect((await world.renn(["mute", "--as", "web"])).stdout).toBe("everybody is muted for 1 h\n");
  expect(await world.json<object>(["mute", "@all", "off", "--as", "web"])).toEqual({ muted: [] });
}, 20_000);

test("watch prints what happens, one line each", async () => {
  const child = Bun.spawn([...rennCommand(), "watch", "--json"], { env: world.env, stdout: "pipe", stderr: "ignore" });
  let text = "";
  const reading = (async () => {
    for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) text += part;
  })();
  const client = await world.connect();
  await client.call("register", { clientKind: "cli", handle: "talker" });
  // The watch begins some time after its process; what happens before is not shown.
  for (const deadline = Date.now() + 10_000; !text.includes("\n") && Date.now() < deadline; await Bun.sleep(20))
    await client
      .call("groups", { action: "list" })
      .then(() => client.call("register", { clientKind: "cli", handle: `talker-${Date.now() % 2}` }));
  await client.call("send", { threadId: null, to: ["api"], body: "hear this" });
  for (const deadline = Date.now() + 10_000; !text.includes('hear this"') && Date.now() < deadline; ) await Bun.sleep(10);
  child.kill();
  await Promise.all([reading, child.exited]);
  const events = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(events).toContainEqual(
    expect.objectContaining({ kind: "message", message: expect.objectContaining({ firstLine: "hear this", to: ["api"] }) }),
  );
  expect(events).toContainEqual(expect.objectContaining({ kind: "presence" }));
}, 30_000);
