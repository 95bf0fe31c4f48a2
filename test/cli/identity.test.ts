// Who a command is: the session around it, the owner, or whom it names (semantics §11).
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Result } from "../../src/protocol/schemas.ts";
import { realSystem } from "../../src/system.ts";
import { cliWorld, type World } from "./world.ts";

let world: World;
beforeAll(async () => {
  world = cliWorld();
  await world.json(["broker", "start"]);
}, 20_000);
afterAll(() => world.end());

const whoami = (args: string[] = [], env: Record<string, string> = {}) => world.json<Result<"whoami">>(["whoami", ...args], { env });

test("outside of sessions: the owner, RENN_HANDLE, --as", async () => {
  expect(await whoami()).toMatchObject({ handle: "renn", owner: true, via: null });
  expect(await whoami([], { RENN_HANDLE: "helper" })).toMatchObject({ handle: "helper", owner: false });
  expect(await whoami(["--as", "other-one"], { RENN_HANDLE: "helper" })).toMatchObject({ handle: "other-one" });
  expect(await whoami(["--as", "renn"], { RENN_HANDLE: "helper" })).toMatchObject({ handle: "renn", owner: true });
  const { peers } = await world.json<Result<"status">>(["status"]);
  expect(peers.map((peer) => peer.handle)).toEqual(expect.arrayContaining(["helper", "other-one", "renn"]));
}, 20_000);

test("inside a session: that session, --owner via it, RENN_HANDLE not", async () => {
  const session = await world.sessionHere("inside");
  try {
    expect(await whoami()).toMatchObject({ handle: "inside", owner: false, peek: false });
    expect(await whoami(["--owner"])).toMatchObject({ handle: "renn", owner: true, via: "inside" });
    expect(await whoami(["--as", "helper"])).toMatchObject({ handle: "helper", via: "inside" });
    const named = await world.renn(["whoami"], { env: { RENN_HANDLE: "helper" } });
    expect(named.stdout).toContain("inside");
    expect(named.stderr).toMatch(/^renn: RENN_HANDLE=helper is not used.*\n$/);
    const sent = await world.json<Result<"send">>(["send", "helper", "hello", "--owner"]);
    expect(sent.via).toBe("inside");
    expect(await world.json<object>(["name", "renamed"])).toEqual({ handle: "renamed" });
    expect((await whoami()).handle).toBe("renamed");
  } finally {
    const host = { hostPid: process.pid, hostStart: realSystem.processStart(process.pid) ?? "" };
    await session.call("session", { event: "session-end", client: "claude", cliSessionId: "session-of-inside", host });
  }
}, 20_000);

test("a session id in the environment names the session of a program with many, and is nothing when it is unknown", async () => {
  const client = await world.connect();
  const child = Bun.spawn(["sleep", "60"]);
  try {
    const host = { hostPid: child.pid, hostStart: realSystem.processStart(child.pid) ?? "" };
    for (const id of ["t-1", "t-2"])
      await client.call("session", {
        event: "session-start",
        client: "codex",
        cliSessionId: id,
        host,
        handle: `codex-${id}`,
        source: "startup",
      });
    expect((await whoami([], { CODEX_THREAD_ID: "t-2" })).handle).toBe("codex-t-2");
    expect((await whoami([], { CODEX_THREAD_ID: "t-2", RENN_HANDLE: "helper" })).handle).toBe("codex-t-2");
    expect(await whoami([], { CODEX_THREAD_ID: "t-9" })).toMatchObject({ handle: "renn", owner: true });
  } finally {
    child.kill();
    await child.exited;
  }
}, 20_000);

test("--as and --owner together are a usage error", async () => {
  expect((await world.renn(["whoami", "--as", "helper", "--owner"])).status).toBe(2);
});
