// Which lines are requests, and what the refusal of the others says (semantics §2).
import { describe, expect, test } from "bun:test";
import { World } from "../world.ts";

function bound() {
  const world = new World();
  const ann = world.register("ann");
  world.register("bob");
  return { world, ann };
}

describe("a line that is no request", () => {
  test("is refused with id null where it has none that can be used, and the connection goes on", () => {
    const { world, ann } = bound();
    for (const line of [
      "{",
      "no",
      '""',
      "5",
      "null",
      "true",
      "[]",
      '[{"v":2,"id":1,"type":"status"}]',
      '{"v":2,"id":1,"type":"status"}}',
      " ",
    ])
      ann.raw(line);
    ann.raw(new Uint8Array([0x7b, 0xff, 0x7d]));
    ann.raw(new Uint8Array([0xef, 0xbb, 0xbf, 0x7b, 0x7d]));
    expect(ann.frames.map((f) => ("id" in f && !f.ok ? [f.id, f.error.code] : f))).toEqual(Array(12).fill([null, "bad_request"]));
    ann.frames = [];
    world.play(`
      ann> status
      ann< ok
    `);
  });

  for (const id of ["-1", "1.5", "9007199254740992", '"1"', "null", "[1]", "true"])
    test(`id ${id} is answered with null`, () => {
      const { ann } = bound();
      ann.raw(`{"v":2,"id":${id},"type":"status"}`);
      expect(ann.frames).toMatchObject([
        { v: 2, id: null, ok: false, error: { code: "bad_request", message: expect.stringMatching(/^id must/) } },
      ]);
    });

  test("a missing id is answered with null", () => {
    const { ann } = bound();
    ann.raw('{"v":2,"type":"status"}');
    expect(ann.frames).toMatchObject([{ id: null, error: { code: "bad_request", message: expect.stringContaining("missing") } }]);
  });

  for (const v of ["1", "3", '"2"', "null", "2.5"])
    test(`v ${v} is told which version is spoken`, () => {
      const { ann } = bound();
      ann.raw(`{"v":${v},"id":4,"type":"status"}`);
      expect(ann.frames).toMatchObject([{ id: 4, error: { code: "bad_request", message: expect.stringMatching(/^v must be 2/) } }]);
    });

  for (const type of ['"toString"', '"__proto__"', '"constructor"', '"hasOwnProperty"', '"nope"', '""', "7", "null", '["send"]'])
    test(`type ${type} is unknown`, () => {
      const { ann } = bound();
      ann.raw(`{"v":2,"id":4,"type":${type}}`);
      expect(ann.frames).toMatchObject([{ id: 4, error: { code: "bad_request", message: expect.stringMatching(/^type/) } }]);
    });
});

describe("a field that is missing or wrong is named, with what it must be and what came", () => {
  const send = { threadId: null, to: "bob", body: "hi" };
  const cases: [string, string, object, RegExp][] = [
    ["no threadId", "send", { to: "bob", body: "hi" }, /^threadId must be .*null.*missing/],
    ["threadId 0", "send", { ...send, threadId: 0 }, /^threadId must/],
    ["threadId 1.5", "send", { ...send, threadId: 1.5 }, /^threadId must.*1\.5/],
    ["no to", "send", { threadId: null, body: "hi" }, /^to must.*missing/],
    ["to a number", "send", { ...send, to: 5 }, /^to must.*is 5/],
    ["to empty", "send", { ...send, to: [] }, /^to must.*array of 0/],
    ["to of numbers", "send", { ...send, to: [5] }, /^to/],
    ["to of nothing", "send", { ...send, to: "" }, /^to must/],
    ["no body", "send", { threadId: null, to: "bob" }, /^body must be a string, and is missing/],
    ["body a number", "send", { ...send, body: 5 }, /^body must be a string, and is 5/],
    ["body empty", "send", { ...send, body: "" }, /^body must have a visible character/],
    ["body of spaces", "send", { ...send, body: " \n\t\u200b\u00ad" }, /^body must have a visible character/],
    ["unknown mode", "send", { ...send, mode: "loud" }, /^mode must be "push" or "notify" or "silent", and is "loud"/],
    [
      "21 references",
      "send",
      { ...send, references: Array(21).fill("x") },
      /^references must be an array of at most 20 items, and is an array of 21/,
    ],
    ["a reference of 401", "send", { ...send, references: ["ok", "x".repeat(401)] }, /^references\.1 must be a string of at most 400/],
    ["empty key", "send", { ...send, key: "" }, /^key must be a string of at least 1/],
    ["key of 129", "send", { ...send, key: "k".repeat(129) }, /^key must/],
    ["unknown verdict", "reply", { messageId: 1, body: "x", verdict: "maybe" }, /^verdict must/],
    ["no messageId", "reply", { body: "x" }, /^messageId must be an integer of at least 1, and is missing/],
    ["reply without visible body", "reply", { messageId: 1, body: "\u2028" }, /^body must have/],
    ["ids empty", "ack", { ids: [] }, /^ids must be an array of at least 1/],
    ["ids of text", "read", { ids: ["1"] }, /^ids\.0 must be an integer.*"1"/],
    ["unreadOnly missing", "inbox", {}, /^unreadOnly must be true or false, and is missing/],
    ["until unknown", "wait", { threadId: 1, until: "someone" }, /^until must/],
    ["negative timeout", "wait", { threadId: 1, until: "all_replied", timeoutMs: -1 }, /^timeoutMs must be an integer of at least 0/],
    ["unknown action", "groups", { action: "join" }, /^action must/],
    ["bad group name", "groups", { action: "create", name: "Ab" }, /^name must be a string that matches/],
    ["handle with capitals", "register", { handle: "Ann", clientKind: "cli" }, /^handle must be a string that matches/],
    ["handle of one", "register", { handle: "a", clientKind: "cli" }, /^handle must/],
    ["handle of 49", "register", { handle: "a".repeat(49), clientKind: "cli" }, /^handle must/],
    ["no clientKind", "register", { handle: "eve" }, /^clientKind must.*missing/],
    ["host without start", "register", { clientKind: "cli", host: { hostPid: 5 } }, /^host\.hostStart must/],
    ["host pid 0", "register", { clientKind: "cli", host: { hostPid: 0, hostStart: 1 } }, /^host\.hostPid must/],
    [
      "unknown event",
      "session",
      { event: "start", client: "claude", cliSessionId: "x", host: { hostPid: 5, hostStart: 1 } },
      /^event must/,
    ],
    ["unknown client", "session", { event: "stop", client: "vim", cliSessionId: "x", host: { hostPid: 5, hostStart: 1 } }, /^client must/],
    ["hook event unknown", "hook", { event: "later" }, /^event must/],
    ["limit 51", "fetch-push", { handle: "ann", limit: 51 }, /^limit must be an integer of at least 1 and at most 50, and is 51/],
    ["limit 0", "fetch-push", { handle: "ann", limit: 0 }, /^limit must/],
    ["token a number", "auth", { token: 5 }, /^token must be a string, |^token must be a string of at most 512 characters, and is 5/],
  ];
  for (const [name, type, fields, message] of cases)
    test(name, () => {
      const { ann } = bound();
      const error = ann.refused(type, fields);
      expect(error.code).toBe("bad_request");
      expect(error.message).toMatch(message);
    });

  test("a long value is not repeated in full", () => {
    const { ann } = bound();
    expect(ann.refused("send", { ...send, mode: "x".repeat(5000) }).message.length).toBeLessThan(200);
  });
});

test("fields that nobody asked for are ignored, a repeated id is answered like any other", () => {
  const { world } = bound();
  world.play(`
    ann>> {"v":2,"id":5,"type":"status","extra":{"deep":[1]},"__proto__":{"handle":"x"}}
    ann< {id: 5, ok: true}
    ann>> {"v":2,"id":5,"type":"status"}
    ann< {id: 5, ok: true}
    ann>> {"v":2,"id":0,"type":"status"}
    ann< {id: 0, ok: true}
    ann>> {"v":2,"id":9007199254740991,"type":"status"}
    ann< {id: 9007199254740991, ok: true}
  `);
});

test("a line over the limit is refused and ends the connection after that answer", () => {
  const { world, ann } = bound();
  ann.raw("too-long");
  world.play(`
    ann< {id: null, ok: false, error: {code: bad_request, message: /1048576 bytes/}}
    ann< closed
  `);
});

test("a connection that is no peer yet is told what to say first", () => {
  const world = new World();
  world.connect("a");
  for (const [type, fields] of [
    ["send", "{threadId: null, to: renn, body: hi}"],
    ["reply", "{messageId: 1, body: hi}"],
    ["inbox", "{unreadOnly: true}"],
    ["read", "{ids: [1]}"],
    ["thread", "{threadId: 1}"],
    ["wait", "{threadId: 1, until: all_replied}"],
    ["groups", "{action: list}"],
    ["hook", "{event: prompt}"],
    ["fetch-push", "{handle: renn, limit: 1}"],
    ["prune", ""],
    ["watch", ""],
    ["whoami", ""],
  ])
    world.play(`
      a> ${type} ${fields}
      a< bad_request {message: /no peer yet/}
    `);
});

test("lines of one connection are answered in their order, also behind a wait", () => {
  const { world, ann } = bound();
  ann.call("send", { threadId: null, to: "bob", body: "hi" });
  const ids = [
    ann.post("wait", { threadId: 1, until: "all_replied", timeoutMs: 1000 }),
    ann.post("status"),
    ann.post("inbox", { unreadOnly: true }),
  ];
  world.settle();
  expect(ann.frames).toEqual([]);
  world.advance(1000);
  expect(ann.frames.map((f) => "id" in f && f.id)).toEqual(ids);
});

test("connections take turns: one that pipelines much does not hold up another", () => {
  const { world, ann } = bound();
  const bob = world.connections.get("bob");
  const many = Array.from({ length: 3000 }, () => ann.post("inbox", { unreadOnly: true }));
  const one = bob?.post("status") ?? 0;
  world.broker.turn();
  expect(bob?.answer(one)).toMatchObject({ ok: true });
  world.settle();
  expect(ann.frames.map((f) => "id" in f && f.id)).toEqual(many);
});
