// A waiting command that is killed has shown nothing of what had come: its replies must still be unread.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import type { Client } from "../../src/client.ts";
import type { Result } from "../../src/protocol/schemas.ts";
import { rennCommand } from "../binary.ts";
import { cliWorld, type World } from "./world.ts";

let world: World;
let api: Client;
let web: Client;
let owner: Client;
beforeAll(async () => {
  world = cliWorld();
  // The broker ends each wait soon, and the command waits again: replies come in the middle of its waiting.
  writeFileSync(world.home.config, JSON.stringify({ limits: { waitMaxMs: 50 } }), { mode: 0o600 });
  await world.json(["broker", "start"]);
  [api, web, owner] = await Promise.all([world.connect(), world.connect(), world.connect()]);
  await api.call("register", { clientKind: "cli", handle: "api" });
  await web.call("register", { clientKind: "cli", handle: "web" });
  await owner.call("register", { clientKind: "cli", owner: true });
}, 20_000);
afterAll(() => world.end());

const unread = async () => (await owner.call("inbox", { unreadOnly: true })).threads.flatMap((thread) => thread.messages.map((m) => m.id));

/** Looks again until something is so, ten seconds at most. */
async function until(look: () => Promise<boolean>): Promise<void> {
  let so = false;
  for (const deadline = Date.now() + 10_000; !so && Date.now() < deadline; await Bun.sleep(5)) so = await look();
  expect(so).toBe(true);
}

/** Asks two by a command that waits for both, has one answer, and goes on once the reply was handed to the command and a round is over. */
async function halfAnswered(args: string[]): Promise<{ child: Bun.Subprocess<"ignore", "pipe", "ignore">; replyId: number }> {
  const { messageId, threadId } = await owner.call("send", { threadId: null, to: ["api", "web"], body: `Shall we, ${args.join(" ")}?` });
  const command = [...rennCommand(), "wait", String(threadId), ...args];
  const child = Bun.spawn(command, { env: world.env, stdin: "ignore", stdout: "pipe", stderr: "ignore" });
  await until(async () => (await owner.call("stats", {})).waits > 0);
  const reply = await api.call("reply", { messageId, body: "Yes" });
  const attempts = async () => (await owner.call("why", { messageId: reply.messageId, handle: "renn" })).deliveries[0]?.attempts ?? [];
  await until(async () => (await attempts()).some((attempt) => attempt.channel === "wait"));
  // The answer that carried it was taken by the command when the command has asked for the next.
  const { requests } = await owner.call("stats", {});
  let own = 1;
  await until(async () => (await owner.call("stats", {})).requests - requests > ++own + 2);
  return { child, replyId: reply.messageId };
}

test.each([[["--json"]], [[]]])(
  "killed in the middle (wait %p), it leaves the reply unread",
  async (args) => {
    const { child, replyId } = await halfAnswered(args);
    child.kill("SIGKILL");
    expect([await child.stdout.text(), await child.exited]).toEqual(["", 137]);
    expect(await unread()).toContain(replyId);
  },
  30_000,
);

test("ended by the last reply, it has shown both and leaves neither unread", async () => {
  const { child, replyId } = await halfAnswered(["--timeout", "20s", "--json"]);
  const { threads } = await web.call("inbox", { unreadOnly: true });
  const asked = threads.flatMap((thread) => thread.messages).at(0);
  const last = await web.call("reply", { messageId: asked?.id ?? 0, body: "No" });
  const shown = JSON.parse(await child.stdout.text()) as Result<"wait">;
  expect([shown.conditionMet, shown.replies.map((reply) => reply.body)]).toEqual([true, ["Yes", "No"]]);
  expect(await child.exited).toBe(0);
  for (const id of [replyId, last.messageId]) expect(await unread()).not.toContain(id);
}, 30_000);
