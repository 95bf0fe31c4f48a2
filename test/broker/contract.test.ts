// A client that knows only the protocol page: every request type with the page's fields alone, and what the page says that it answers.
import { expect, test } from "bun:test";
import { defaultLimits, deliveryModes, deliveryStates, presences, verdicts } from "../../src/protocol/constants.ts";
import { errorCodes } from "../../src/protocol/errors.ts";
import { requests } from "../../src/protocol/schemas.ts";
import { FakeNative, testPorts, token, World } from "../world.ts";

test("every request of the page is answered with the fields of the page", () => {
  const world = new World({ ports: testPorts({ claude: { native: Object.assign(new FakeNative(), { up: false }) } }) });
  const host = world.sessionFields("s").host;
  const ask = (name: string, type: string, fields: object) => {
    const c = world.connections.get(name) ?? world.connect(name, { auth: false });
    const frame = c.answer(c.request(type, fields));
    expect([type, Object.keys(frame).sort()]).toEqual([type, ["id", "ok", "result", "v"]]);
    return (frame as { result: unknown }).result as Record<string, unknown>;
  };
  const keys = (result: object) => Object.keys(result);
  const has = (result: object, ...wanted: string[]) => expect(keys(result)).toEqual(expect.arrayContaining(wanted));

  expect(ask("ann", "auth", { token })).toEqual({});
  expect(ask("w", "auth", { token })).toEqual({});
  expect(ask("o", "auth", { token })).toEqual({});
  has(
    ask("ann", "register", {
      handle: "ann",
      display: "Ann",
      role: "r",
      clientKind: "cli",
      host,
      ancestors: [1, 2],
      client: "other",
      cwd: "/x",
    }),
    "handle",
    "owner",
  );
  expect(ask("o", "register", { clientKind: "cli", owner: true })).toMatchObject({ handle: "renn", owner: true });
  const session = { client: "claude", cliSessionId: "c1", host, transcriptPath: "/t", title: "My work", cwd: "/x", listen: false };
  expect(ask("w", "session", { event: "session-start", ...session })).toEqual({ handle: "my-work" });
  expect(ask("w", "session", { event: "prompt", ...session, native: { socketPath: "/s", token: "t" } })).toEqual({ handle: "my-work" });
  expect(ask("w", "session", { event: "stop", ...session, handle: "worker" })).toEqual({ handle: "worker" });
  expect(ask("w", "native-register", { handle: "worker", socketPath: "/s", token: "t" })).toEqual({});

  const sent = ask("ann", "send", { threadId: null, to: ["worker", "renn"], body: "well?", references: ["a"], mode: "push" });
  expect(keys(sent).sort()).toEqual(["deliveries", "messageId", "seq", "threadId", "via"]);
  has(ask("w", "fetch-push", { handle: "worker", limit: 10 }), "messages");
  expect(ask("w", "delivered", { ids: [1] })).toEqual({ delivered: [1] });
  has(ask("w", "reply", { messageId: 1, body: "yes", verdict: "agree", references: [] }), "messageId", "threadId", "seq");
  expect(ask("ann", "ack", { ids: [2] })).toEqual({ acknowledged: [2] });
  has(ask("ann", "read", { ids: [1, 2] }), "messages");
  expect(keys(ask("ann", "inbox", { unreadOnly: false })).sort()).toEqual(["handle", "threads", "unreadTotal"]);
  expect(keys(ask("ann", "thread", { threadId: 1, sinceSeq: null, full: true })).sort()).toEqual(["latestSeq", "messages", "threadId"]);
  expect(keys(ask("ann", "thread", { threadId: 1, sinceSeq: 0, full: false, messageId: 1 })).sort()).toEqual([
    "latestSeq",
    "messages",
    "threadId",
  ]);
  expect(keys(ask("ann", "collect", { threadId: 1 })).sort()).toEqual(["askMessageId", "recipients", "threadId", "verdictTally"]);
  has(ask("ann", "wait", { threadId: 1, until: "any_replied", timeoutMs: 0 }), "threadId", "conditionMet", "timedOut", "matrix");
  for (const [action, more] of [
    ["create", { name: "crew", members: ["worker"] }],
    ["list", {}],
    ["add", { name: "crew", members: ["ann"] }],
    ["remove", { name: "crew", members: ["ann"] }],
    ["delete", { name: "crew" }],
  ] as const)
    expect(ask("ann", "groups", { action, ...more })).toMatchObject([{ name: "crew", createdBy: "ann" }]);
  expect(keys(ask("ann", "status", {})).sort()).toEqual(["now", "peers"]);
  expect(ask("ann", "prune", {})).toEqual({ removed: [] });
  for (const event of ["session-start", "prompt", "post-tool", "stop", "session-end"])
    has(ask("w", "hook", { event, handle: "worker", sessionHint: "c1" }), "handle", "texts", "notifications", "more", "block");
  expect(ask("w", "session", { event: "session-end", ...session })).toEqual({ handle: "worker" });
});

test("the words and numbers of the page are the source's", () => {
  expect([...deliveryStates]).toEqual(["queued", "sent", "delivered", "acknowledged", "replied"]);
  expect([...verdicts]).toEqual(["agree", "disagree", "info"]);
  expect([...deliveryModes]).toEqual(["push", "notify", "silent"]);
  expect([...presences]).toEqual(["online", "busy", "idle", "offline", "presumed-offline"]);
  expect(Object.keys(errorCodes).sort()).toEqual(
    [
      ...[
        "auth_required",
        "bad_token",
        "broker_closed",
        "broker_down",
        "unknown_handle",
        "unknown_group",
        "unknown_thread",
        "unknown_message",
      ],
      ...["duplicate", "rate_limited", "cap_thread", "cap_inbox", "bad_request", "timeout", "native_failed", "internal"],
    ].sort(),
  );
  expect(defaultLimits).toEqual({
    bodyCharactersMax: 4000,
    sendsPerWindow: 20,
    sendWindowMs: 60_000,
    duplicateWindowMs: 60_000,
    threadMessagesMax: 500,
    unreadMax: 200,
    notificationBatchMs: 60_000,
    waitDefaultMs: 120_000,
    waitMaxMs: 300_000,
    firstLineCharactersMax: 120,
    proofWindowMs: 120_000,
  });
});

test("everything that is not of the page is marked as an addition", () => {
  const ofThePage = Object.entries(requests).filter(([, spec]) => !("addition" in spec));
  expect(ofThePage.map(([type]) => type)).toEqual([
    ...["auth", "register", "session", "delivered", "send", "reply", "ack", "read", "inbox", "thread", "collect", "wait", "groups"],
    ...["status", "prune", "hook", "native-register", "fetch-push"],
  ]);
});
