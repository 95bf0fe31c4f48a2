// Which rows of a transcript prove that the model was given a message, and which only look so.
import { describe, expect, spyOn, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname } from "node:path";
import fc from "fast-check";
import { cliOf, clis } from "../../src/clis/index.ts";
import { realSystem } from "../../src/system.ts";

const tag = "[murmur m42 thread 7 #3 from renn to x]\nhello";

/** What a fresh reader of a CLI makes of rows, one after the other. */
function read(client: string, rows: (object | string)[]): number[][] {
  const reader = cliOf(client)?.proofReader?.();
  if (!reader) throw new Error(`${client} has no proof reader`);
  return rows.map((row) => reader(typeof row === "string" ? row : JSON.stringify(row)));
}

describe("claude", () => {
  const attachment = (fields: object, more: object = {}) => ({ type: "attachment", isSidechain: false, attachment: fields, ...more });
  const user = (more: object) => ({
    type: "user",
    message: { role: "user", content: `Another Claude session sent a message:\n${tag}` },
    ...more,
  });
  const proves: [string, object][] = [
    ["a hook's context", attachment({ type: "hook_additional_context", content: [tag], hookEvent: "Stop" }, { rendered: [] })],
    ["the same in 2.1.197", attachment({ type: "hook_additional_context", content: tag })],
    ["a peer message that started a turn", user({ isMeta: true, origin: { kind: "peer", msg_id: "x" } })],
    ["one that was absorbed", attachment({ type: "queued_command", prompt: `x\n${tag}`, origin: { kind: "peer" } })],
    ["in parts", attachment({ type: "queued_command", prompt: [{ type: "text", text: tag }], origin: { kind: "peer" } })],
  ];
  const proveNot: [string, object][] = [
    ["raw stdout of a hook", attachment({ type: "hook_success", stdout: tag, content: tag })],
    ["a hook that was cancelled", attachment({ type: "hook_cancelled", stdout: tag })],
    ["a hook that failed", attachment({ type: "hook_non_blocking_error", stderr: tag })],
    ["a frame that is only queued", { type: "queue-operation", operation: "enqueue", content: tag }],
    ["a message that was held", { type: "system", subtype: "informational", content: `Held peer message\n${tag}` }],
    ["what the user typed", user({ origin: undefined })],
    ["a peer's row that is not the CLI's own", user({ origin: { kind: "peer" } })],
    ["a queued prompt of the user", attachment({ type: "queued_command", prompt: tag, origin: { kind: "user" } })],
    ["the model's own words", { type: "assistant", message: { content: [{ type: "text", text: tag }] } }],
    ["a tool's output", { type: "user", message: { content: [{ type: "tool_result", content: tag }] }, toolUseResult: { stdout: tag } }],
    ["a subagent's context", attachment({ type: "hook_additional_context", content: [tag] }, { isSidechain: true })],
    ["a tag inside a line", attachment({ type: "hook_additional_context", content: [`see ${tag}`] })],
    ["a broken tag", attachment({ type: "hook_additional_context", content: [tag.replace("[m", "[ m")] })],
  ];
  for (const [what, row] of proves) test(`yes: ${what}`, () => expect(read("claude", [row])).toEqual([[42]]));
  for (const [what, row] of proveNot) test(`no: ${what}`, () => expect(read("claude", [row])).toEqual([[]]));
  test("m1 is not proven by m12", () => {
    expect(read("claude", [attachment({ type: "hook_additional_context", content: ["[murmur m12 x]"] })])).toEqual([[12]]);
  });
});

describe("codex", () => {
  const at = (history: number, sampled: number) => ({ history_sequence: history, sampled_through_sequence: sampled });
  const item = (payload: object, metadata: object) => ({ type: "response_item", payload, metadata });
  const hooked = (text: string, kinds = ["hooks.additional_context"]) => ({
    type: "message",
    role: "developer",
    content: [{ type: "input_text", text }],
    internal_chat_message_metadata_passthrough: { content_item_kinds: kinds },
  });
  const answer = (sampled: number) =>
    item({ type: "message", role: "assistant", content: [{ type: "output_text", text: "ok" }] }, at(99, sampled));
  const pushed = { type: "function_call_output", name: "renn", namespace: "agent", output: tag };

  test("a hook's context once a later row was sampled through it", () => {
    expect(read("codex", [item(hooked(tag), at(5, 0)), answer(4), answer(5), answer(6)])).toEqual([[], [], [42], []]);
  });
  test("a turn that was aborted before its request proves nothing", () => {
    expect(
      read("codex", [item(hooked(tag), at(11, 9)), { type: "event_msg", payload: { type: "turn_aborted" } }, answer(10)]).flat(),
    ).toEqual([]);
  });
  test("a push and a stop's reason", () => {
    const stop = {
      type: "message",
      role: "user",
      content: [{ type: "input_text", text: `<hook_prompt hook_run_id="stop:3:/x">${tag}</hook_prompt>` }],
    };
    expect(read("codex", [item(pushed, at(5, 3)), answer(5)])).toEqual([[], [42]]);
    expect(read("codex", [item(stop, at(5, 3)), answer(5)])).toEqual([[], [42]]);
  });
  const never: [string, object][] = [
    ["what the user typed", { type: "message", role: "user", content: [{ type: "input_text", text: tag }] }],
    ["what a shell printed", { type: "function_call_output", call_id: "c", output: tag }],
    ["a tool that calls itself renn", { ...pushed, call_id: "c" }],
    ["the model's own words", { type: "message", role: "assistant", content: [{ type: "output_text", text: tag }] }],
    ["a call's arguments", { type: "function_call", arguments: tag }],
    ["instructions of the repository", hooked(tag, ["user_instructions"])],
  ];
  for (const [what, payload] of never)
    test(`no: ${what}`, () => expect(read("codex", [item(payload, at(5, 3)), answer(9)]).flat()).toEqual([]));
});

describe("gemini", () => {
  const user = (content: unknown, id = "u1") => ({ id, type: "user", content });
  const answer = (id: string, more: object = {}) => ({ id, type: "gemini", content: "ok", ...more });
  const wrapped = `<hook_context>${tag}</hook_context>`;
  const result = (output: string) => [{ functionResponse: { response: { output } } }];

  test("a prompt's context once an answer was stored", () => {
    expect(read("gemini", [user([{ text: "hi" }, { text: wrapped }]), answer("g1"), answer("g2")])).toEqual([[], [42], []]);
  });
  test("a row that is written again under its id is no later answer", () => {
    expect(read("gemini", [answer("g1"), user([{ text: wrapped }]), answer("g1"), answer("g2")])).toEqual([[], [], [], [42]]);
  });
  test("a tool's context: not by the answer that carries the call itself", () => {
    const output = `files\n\n${wrapped}`;
    const call = answer("g1", { toolCalls: [{ name: "ls", result: result(output) }] });
    expect(read("gemini", [user(result(output)), call, answer("g2")])).toEqual([[], [], [42]]);
  });
  test("a turn end's reason", () => {
    expect(read("gemini", [user([{ text: tag }]), answer("g1")]).flat()).toEqual([42]);
  });
  test("no: what a tool printed before its context, and what the user typed", () => {
    const output = `${wrapped}\n\n<hook_context>nothing</hook_context>`;
    expect(read("gemini", [user(result(output)), user([{ text: `look:\n${tag}` }]), answer("g9")]).flat()).toEqual([]);
  });
});

describe("hummin and other", () => {
  test("the row that our extension's message becomes", () => {
    const row = { type: "custom_message", customType: "renn", content: tag };
    expect(read("hummin", [row, { ...row, customType: "x" }, { ...row, type: "message" }])).toEqual([[42], [], []]);
  });
  test("other: the tag at the start of a line in any string of a row", () => {
    expect(read("other", [{ a: [{ b: `x\n${tag}` }] }, tag.split("\n")[0] as string, { a: `x ${tag}` }])).toEqual([[42], [42], []]);
  });
});

test("hostile rows: nothing is thrown, nothing proven that is not there", () => {
  const words = [
    "type",
    "user",
    "attachment",
    "response_item",
    "payload",
    "content",
    "text",
    "toolCalls",
    "result",
    "__proto__",
    "metadata",
    "gemini",
    "id",
  ];
  const key = fc.constantFrom(...words);
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom(...words, "hook_additional_context", "peer"),
      fc.integer(),
      fc.constant(null),
      tie("list"),
      tie("object"),
    ),
    list: fc.array(tie("value"), { maxLength: 3 }),
    object: fc.dictionary(key, tie("value"), { maxKeys: 5 }),
  }));
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(
          value.map((v) => JSON.stringify(v)),
          fc.string(),
        ),
        { maxLength: 6 },
      ),
      (rows) => {
        for (const cli of clis) {
          const reader = cli.proofReader?.();
          for (const row of rows) expect(reader?.(row) ?? []).toEqual([]);
        }
      },
    ),
    { numRuns: 300 },
  );
});

test("a row names each message once, and no more than a thousand", () => {
  const row = (content: string) => ({ type: "custom_message", customType: "renn", content });
  expect(read("hummin", [row(`${tag}\n`.repeat(1000))])).toEqual([[42]]);
  const many = Array.from({ length: 3000 }, (_, i) => `[murmur m${i} x]`).join("\n");
  expect(read("hummin", [row(many)]).flat().length).toBe(1000);
});

test("rows of very many values prove nothing, long texts do", () => {
  const row = (more: unknown) => ({ type: "custom_message", customType: "renn", content: tag, more });
  expect(read("hummin", [row(Array(200_000).fill(0)), row('\\"[{,'.repeat(200_000))])).toEqual([[], [42]]);
});

test("rows that cannot be JSON are not parsed: an exception for each in a flood of them would take seconds", () => {
  const parse = spyOn(JSON, "parse");
  try {
    for (const row of ["", "[murmur m", "[murmur m]", "[murmur m}", "{[murmur m", "murmur"])
      for (const cli of clis) expect(cli.proofReader?.()(row) ?? []).toEqual([]);
    expect(parse).not.toHaveBeenCalled();
  } finally {
    parse.mockRestore();
  }
});

test("a flood of newlines in a transcript is no flood of rows", async () => {
  const file = `${mkdtempSync(`${tmpdir()}/rows-`)}/t.jsonl`;
  writeFileSync(file, `${"\n".repeat(100_000)}{"a":1}\n\n{"b":2}\n`);
  const chunk = realSystem.tail(file, null, 262_144);
  rmSync(dirname(file), { recursive: true });
  expect(chunk?.rows.filter(Boolean)).toEqual(['{"a":1}', '{"b":2}']);
  expect(chunk?.rows.length).toBeLessThan(5);
  expect(chunk?.more).toBe(false);
});

test("every CLI of the protocol has its line", async () => {
  const { clientNames } = await import("../../src/protocol/constants.ts");
  expect(clis.map((cli) => cli.client).sort()).toEqual([...clientNames].sort());
});
