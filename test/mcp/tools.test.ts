// What the tool list costs in every session that loads it, and whether it is fit for the CLIs that read it.
import { describe, expect, test } from "bun:test";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { runs } from "../../src/modes/mcp/run.ts";
import { tools } from "../../src/modes/mcp/tools.ts";
import { requests } from "../../src/protocol/schemas.ts";

const tokensMax = 1_500;
const toolsMax = 10;

describe("the tool list", () => {
  test(`takes at most ${tokensMax} tokens and ${toolsMax} tools`, () => {
    const tokens = encode(JSON.stringify({ tools })).length;
    expect(tokens).toBeLessThan(tokensMax);
    expect(tools.length).toBeLessThanOrEqual(toolsMax);
  });

  test("names every tool once, and each does something", () => {
    expect(tools.map((tool) => tool.name).sort()).toEqual(Object.keys(runs).sort());
    expect(new Set(tools.map((tool) => tool.name)).size).toBe(tools.length);
  });

  for (const { name, annotations, inputSchema, outputSchema, description } of tools) {
    test(`${name} runs without approval in Codex`, () => {
      const harmless = annotations.readOnlyHint === true || (annotations.destructiveHint === false && annotations.openWorldHint === false);
      expect(harmless).toBe(true);
    });

    test(`${name} takes fields of the wire's request, under their names`, () => {
      expect(Object.keys(requests[name as "send"].fields.properties)).toEqual(expect.arrayContaining(Object.keys(inputSchema.properties)));
      expect(Object.keys(inputSchema.properties)).toEqual(expect.arrayContaining(inputSchema.required ?? []));
      expect(Object.keys(outputSchema.properties)).toEqual(expect.arrayContaining(outputSchema.required ?? []));
    });

    test(`${name} lists neither the caller's session nor the key of a send`, () => {
      expect(Object.keys(inputSchema.properties)).not.toContain("renn_session");
      expect(Object.keys(inputSchema.properties)).not.toContain("key");
      expect(description.length).toBeGreaterThan(20);
    });
  }
});
