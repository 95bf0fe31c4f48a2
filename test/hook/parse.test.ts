// What hooks make of any input: nothing but what fits the wire, and never an exception.
import { expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import fc from "fast-check";
import type { Cli, HookInput } from "../../src/clis/cli.ts";
import { eventName } from "../../src/clis/common.ts";
import { clis } from "../../src/clis/index.ts";
import { parseObject } from "../../src/clis/payload.ts";
import { guessClient } from "../../src/modes/hook/guess.ts";
import { answerText, requestLines } from "../../src/modes/hook/messages.ts";
import { requests } from "../../src/protocol/schemas.ts";
import { payloads } from "./world.ts";

const host = { pid: 7, start: "1" };

/** What a CLI's hook would send for an input; the broker's own schemas check it. */
function sent(cli: Cli, json: string): HookInput | null {
  const payload = parseObject(json);
  const input = payload && cli.hook.parse(payload, eventName(payload, undefined), {});
  if (!input) return null;
  for (const line of requestLines(cli.client, input, host, undefined, true)) {
    const { v, id, type, ...fields } = JSON.parse(line);
    expect(Value.Errors(requests[type as "session" | "hook"].fields, fields).First()).toBeUndefined();
  }
  return input;
}

test("every payload cut at every byte says nothing", () => {
  const samples = {
    claude: payloads.claude("Stop"),
    codex: payloads.codex("Stop"),
    gemini: payloads.gemini("AfterAgent"),
    zcode: payloads.zcode("Stop"),
  };
  for (const cli of clis) {
    const sample = samples[cli.client as keyof typeof samples];
    if (!sample) continue;
    const json = JSON.stringify(sample);
    expect(sent(cli, json)?.event).toBe("stop");
    for (let n = 0; n < json.length; n++) expect(sent(cli, json.slice(0, n))).toBeNull();
  }
});

test("whatever comes, what is sent fits the wire", () => {
  const names = [
    "Stop",
    "SessionStart",
    "UserPromptSubmit",
    "BeforeAgent",
    "AfterTool",
    "prompt",
    "session-start",
    "__proto__",
    "toString",
  ];
  const value = fc.oneof(
    fc.constantFrom(...names, "clear", "bypassPermissions", true, null),
    fc.string({ maxLength: 30, unit: "binary" }),
    fc.integer(),
    fc.constantFrom("x".repeat(5000), "\ud800"),
    fc.array(fc.string(), { maxLength: 2 }),
    fc.object({ maxDepth: 1, maxKeys: 2 }),
  );
  const fields = [
    "session_id",
    "sessionId",
    "hook_event_name",
    "hookEventName",
    "transcript_path",
    "cwd",
    "title",
    "session_title",
    "source",
  ];
  const more = ["stop_hook_active", "permission_mode", "prompt", "event", "pid", "__proto__"];
  const payload = fc.dictionary(fc.constantFrom(...fields, ...more), value);
  const likely = fc.record({ session_id: fc.string({ minLength: 1, maxLength: 250 }), hook_event_name: fc.constantFrom(...names) });
  fc.assert(
    fc.property(payload, likely, (odd, usual) => {
      for (const made of [odd, { ...odd, ...usual }, { ...usual, ...odd }])
        for (const cli of [...clis, guessClient(made)]) sent(cli, JSON.stringify(made));
    }),
    { numRuns: 200 },
  );
});

test("whatever the broker answers, a text or nothing is shown", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom("texts", "notifications", "more", "intro", "block"), fc.anything()), (result) => {
      expect(typeof answerText("prompt", result, { unit: "bytes", max: 100 })).toBe("string");
      expect(answerText("session-end", result, { unit: "bytes", max: 100 })).toBe("");
    }),
  );
});

test("ZCode's configuration holds nothing that its schema does not know", () => {
  const zcode = clis.find((cli) => cli.client === "zcode");
  const edits =
    zcode?.setup?.edits({ folder: "/z", moved: false, userHome: "/h", program: "/h/.renn/bin/renn", env: { RENN_HOME: "/r" } }) ?? [];
  const known = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure", "Stop"];
  for (const edit of edits) {
    if (edit.kind === "value")
      expect([
        ["hooks", "enabled"],
        ["mcp", "servers", "renn"],
      ]).toContainEqual(edit.path);
    if (edit.kind !== "hook") continue;
    expect(known).toContain(edit.path[2] as string);
    const { hooks, ...group } = edit.value as { hooks: Record<string, unknown>[] };
    expect(group).toEqual({});
    expect(hooks.map((hook) => Object.keys(hook).sort())).toEqual([["args", "command", "timeoutMs", "type"]]);
  }
  expect(edits.filter((edit) => edit.kind === "hook").length).toBe(4);
});
