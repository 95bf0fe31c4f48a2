// The client library against a broker that does as each test says.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, unlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { Client, type ClientEvent } from "../src/client.ts";
import { ProtocolError } from "../src/protocol/errors.ts";
import { emptyHome, fakeBroker, type Line } from "./fake-broker.ts";

let home: ReturnType<typeof emptyHome>;
beforeEach(() => {
  home = emptyHome();
});
afterEach(() => home.remove());

async function refusal(promise: Promise<unknown>): Promise<ProtocolError> {
  const error: unknown = await promise.then(
    () => null,
    (e: unknown) => e,
  );
  if (!(error instanceof ProtocolError)) throw new Error(`expected a refusal, and got ${String(error)}`);
  return error;
}

test("auth travels in the same write as the first request", async () => {
  const broker = fakeBroker(home, (line, answer) => answer({ id: line.id, ok: true, result: { removed: ["a"] } }));
  const client = await Client.connect({ paths: home });
  expect(await client.call("prune", {})).toEqual({ removed: ["a"] });
  expect(broker.chunks).toHaveLength(1);
  const [auth, prune] = (broker.chunks[0] ?? "")
    .trimEnd()
    .split("\n")
    .map((text) => JSON.parse(text) as Line);
  expect(auth).toEqual({ v: 2, id: 1, type: "auth", token: "secret" });
  expect(prune).toEqual({ v: 2, id: 2, type: "prune" });
  client.close();
  broker.stop();
});

test("answers find their request in any order", async () => {
  const held: (() => void)[] = [];
  const broker = fakeBroker(home, (line, answer) => {
    held.unshift(() => answer({ id: line.id, ok: true, result: { handle: `h${line.id}` } }));
    if (held.length === 3) for (const give of held) give();
  });
  const client = await Client.connect({ paths: home });
  const handles = ["aa", "bb", "cc"].map((handle) => client.call("name", { handle }));
  expect(await Promise.all(handles)).toEqual([{ handle: "h2" }, { handle: "h3" }, { handle: "h4" }]);
  client.close();
  broker.stop();
});

test("a refusal carries code, message and data, and the connection goes on", async () => {
  const error = { code: "rate_limited", message: "slow down", retryAfterMs: 1500 };
  const broker = fakeBroker(home, (line, answer) =>
    answer(line.id === 2 ? { id: 2, ok: false, error } : { id: line.id, ok: true, result: {} }),
  );
  const client = await Client.connect({ paths: home });
  const refused = await refusal(client.call("prune", {}));
  expect([refused.code, refused.message, refused.data]).toEqual(["rate_limited", "slow down", { retryAfterMs: 1500 }]);
  expect(await client.call("watch", {})).toEqual({});
  client.close();
  broker.stop();
});

test("a wrong token refuses everything that was sent along", async () => {
  const broker = fakeBroker(
    home,
    (line, answer, socket) => {
      answer({ id: line.id, ok: false, error: { code: line.type === "auth" ? "bad_token" : "auth_required", message: "no" } });
      if (line.type !== "auth") socket.end();
    },
    true,
  );
  const client = await Client.connect({ paths: home });
  const both = await Promise.all([refusal(client.call("prune", {})), refusal(client.call("watch", {}))]);
  expect(both.map((error) => error.code)).toEqual(["bad_token", "bad_token"]);
  expect(client.open).toBe(false);
  broker.stop();
});

test("no answer in time is a timeout, and a late one harms nothing", async () => {
  const late: (() => void)[] = [];
  const broker = fakeBroker(home, (line, answer) => {
    if (line.type === "prune") late.push(() => answer({ id: line.id, ok: true, result: { removed: [] } }));
    else {
      for (const give of late) give();
      answer({ id: line.id, ok: true, result: {} });
    }
  });
  const client = await Client.connect({ paths: home });
  expect((await refusal(client.call("prune", {}, { timeoutMs: 20 }))).code).toBe("timeout");
  expect(await client.call("watch", {})).toEqual({});
  client.close();
  broker.stop();
});

test("a connection that ends refuses what is open, and what comes after", async () => {
  let closed = 0;
  const broker = fakeBroker(home, (_line, _answer, socket) => socket.end());
  const client = await Client.connect({ paths: home, onClose: () => closed++ });
  expect((await refusal(client.call("prune", {}))).code).toBe("broker_closed");
  expect((await refusal(client.call("prune", {}))).code).toBe("broker_closed");
  expect(closed).toBe(1);
  broker.stop();
});

test("events come in order, between answers, also cut anywhere in a character", async () => {
  const events: ClientEvent[] = [];
  const arrived = Promise.withResolvers<void>();
  const broker = fakeBroker(home, (line, answer, socket) => {
    const bytes = Buffer.from(
      `{"v":2,"type":"event","event":"notification","payload":[{"kind":"peer_offline","threadId":null,"fromHandle":"ñ家"}]}\n`,
    );
    for (const byte of bytes) socket.write(Uint8Array.of(byte));
    answer({ id: line.id, ok: true, result: {} });
  });
  const onEvent = (event: ClientEvent) => {
    events.push(event);
    arrived.resolve();
  };
  const client = await Client.connect({ paths: home, onEvent });
  await client.call("watch", {});
  await arrived.promise;
  expect(events).toEqual([{ event: "notification", payload: [{ kind: "peer_offline", threadId: null, fromHandle: "ñ家" }] }]);
  client.close();
  broker.stop();
});

test("requests and answers of many reads arrive whole", async () => {
  const broker = fakeBroker(home, (line, answer) => answer({ id: line.id, ok: true, result: { handle: String(line.handle).length } }));
  const client = await Client.connect({ paths: home });
  const big = "x".repeat(1_000_000);
  const answers = await Promise.all([1, 2, 3, 4, 5].map(() => client.call("name", { handle: big })));
  expect(answers.map((answer) => Number(answer.handle))).toEqual([1e6, 1e6, 1e6, 1e6, 1e6]);
  expect((await refusal(client.call("name", { handle: "x".repeat(1_048_576) }))).code).toBe("bad_request");
  client.close();
  broker.stop();
});

test("what does not speak the protocol ends the connection", async () => {
  const broker = fakeBroker(home, (_line, answer) => answer("HTTP/1.1 400 Bad Request\n"));
  const client = await Client.connect({ paths: home });
  expect((await refusal(client.call("prune", {}))).code).toBe("broker_closed");
  broker.stop();
});

test("without a broker: broker_down, whether the socket is missing or dead", async () => {
  expect((await refusal(Client.connect({ paths: home }))).code).toBe("broker_down");
  const dead = Bun.spawnSync([
    process.execPath,
    "-e",
    `Bun.listen({unix:process.argv[1],socket:{data(){}}});process.kill(process.pid,"SIGKILL")`,
    home.socket,
  ]);
  expect(dead.signalCode).toBe("SIGKILL");
  expect((await refusal(Client.connect({ paths: home }))).code).toBe("broker_down");
});

test("the token is not sent into a home that others can open", async () => {
  const broker = fakeBroker(home, () => {});
  chmodSync(home.home, 0o755);
  const refused = await refusal(Client.connect({ paths: home }));
  expect(refused.message).toContain("chmod 700");
  expect(broker.chunks).toEqual([]);
  broker.stop();
});

test("the socket may be a link into a private folder, and into no other", async () => {
  const folder = mkdtempSync(`${tmpdir()}/renn-sock-`);
  const broker = fakeBroker({ ...home, socket: `${folder}/bus.sock` }, (line, answer) => answer({ id: line.id, ok: true, result: {} }));
  symlinkSync(`${folder}/bus.sock`, home.socket);
  const client = await Client.connect({ paths: home });
  expect(await client.call("watch", {})).toEqual({});
  client.close();
  chmodSync(folder, 0o755);
  expect((await refusal(Client.connect({ paths: home }))).message).toContain("open to other users");
  broker.stop();
  rmSync(folder, { recursive: true });
});

test("what is no socket is not connected to", async () => {
  mkdirSync(home.socket);
  expect((await refusal(Client.connect({ paths: home }))).message).toContain("not a socket");
});

test("a missing token says how to get one", async () => {
  const broker = fakeBroker(home, () => {});
  unlinkSync(home.token);
  expect((await refusal(Client.connect({ paths: home }))).message).toContain("renn token --rotate");
  broker.stop();
});
