// protocol: the wire as tables for docs/protocol.md and as JSON Schema, both made from src/protocol.
import type { Command } from "commander";
import {
  authDeadlineMs,
  clientNames,
  defaultLimits,
  deliveryModes,
  deliveryStates,
  handlePattern,
  lineBytesMax,
  presences,
  protocolVersion,
  verdicts,
} from "../../protocol/constants.ts";
import { errorCodes } from "../../protocol/errors.ts";
import { events, type RequestSpec, requests } from "../../protocol/schemas.ts";
import { print, printJson, UsageError } from "./output.ts";
import { optionsOf } from "./run.ts";

/** What is read of a schema here; TypeBox makes plain JSON Schema. */
type Schema = {
  type?: string;
  description?: string;
  const?: unknown;
  pattern?: string;
  items?: Schema;
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  addition?: boolean;
};

/** Adds `protocol`. */
export function registerProtocol(program: Command): void {
  program
    .command("protocol")
    .summary("print the wire protocol")
    .option("--markdown", "as the tables of docs/protocol.md")
    .option("--json-schema", "as JSON Schema")
    .action(async (_options, command: Command) => {
      const options = optionsOf<{ markdown?: boolean; jsonSchema?: boolean }>(command);
      if (options.markdown && options.jsonSchema) throw new UsageError("--markdown and --json-schema exclude each other");
      await (options.jsonSchema || options.json ? printJson(protocolJsonSchema()) : print(protocolMarkdown().trimEnd()));
    });
}

/** Every request, result and event as JSON Schema, with the error codes and constants. */
export function protocolJsonSchema(): object {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "renn wire protocol",
    protocolVersion,
    requests,
    events,
    errors: errorCodes,
    limits: defaultLimits,
  };
}

/** The tables of docs/protocol.md: requests with fields and results, events, words, error codes, constants. */
export function protocolMarkdown(): string {
  const all = Object.entries<RequestSpec>(requests);
  return [
    "## Requests",
    ...all.filter(([, spec]) => !spec.addition).map(([type, spec]) => requestSection(type, spec)),
    "## Requests that are additions of renn",
    ...all.filter(([, spec]) => spec.addition).map(([type, spec]) => requestSection(type, spec)),
    "## Events",
    ...Object.entries(events).map(([name, spec]) => eventSection(name, spec.summary, spec.payload as Schema, "addition" in spec)),
    "## Words",
    wordsTable(),
    "## Error codes",
    errorsTable(),
    "## Constants",
    constantsTable(),
    "",
  ].join("\n\n");
}

const cell = (text: string) => text.replaceAll("|", "\\|").replaceAll("\n", " ");

function markdownTable(headings: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.map(cell).join(" | ")} |`;
  return [line(headings), `|${headings.map(() => "---").join("|")}|`, ...rows.map(line)].join("\n");
}

function requestSection(type: string, spec: RequestSpec): string {
  const fields = spec.fields as Schema;
  const parts = [`### ${type}`, spec.summary];
  parts.push(Object.keys(fields.properties ?? {}).length ? fieldTable("Field", fields) : "No fields.");
  parts.push(...resultParts(spec.result as Schema));
  return parts.join("\n\n");
}

function resultParts(result: Schema): string[] {
  if (result.type === "array" && result.items) return ["The result is an array of:", fieldTable("Result", result.items)];
  if (!Object.keys(result.properties ?? {}).length) return ["Result: `{}`."];
  return [fieldTable("Result", result)];
}

function eventSection(name: string, summary: string, payload: Schema, addition: boolean): string {
  const head = [`### ${name}${addition ? " (addition)" : ""}`, summary];
  if (payload.anyOf) return [...head, ...payload.anyOf.map((one) => fieldTable("Payload", one))].join("\n\n");
  if (payload.type === "array" && payload.items)
    return [...head, "The payload is an array of:", fieldTable("Payload", payload.items)].join("\n\n");
  return [...head, fieldTable("Payload", payload)].join("\n\n");
}

function fieldTable(heading: string, schema: Schema): string {
  return markdownTable([heading, "Type", "Meaning"], fieldRows(schema, ""));
}

/** One row a field; the fields of objects inside follow under their path. A message summary is described once, under `read`. */
function fieldRows(schema: Schema, path: string): string[][] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const optional = schema.required?.includes(name) ? "" : "?";
    const whole = `${path}${name}`;
    const mark = field.addition ? " *(addition)*" : "";
    const row = [`\`${whole}${optional}\``, typeWords(field), `${field.description ?? ""}${mark}`.trim()];
    const inner = inside(field);
    return inner ? [row, ...fieldRows(inner, `${whole}${field.type === "array" ? "[]" : ""}.`)] : [row];
  });
}

function inside(field: Schema): Schema | null {
  const object = field.type === "array" ? field.items : field;
  return object?.type === "object" && object.properties ? object : null;
}

function typeWords(schema: Schema): string {
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.anyOf) return [...new Set(schema.anyOf.map(typeWords))].join(" or ");
  if (schema.type === "array") return `array of ${schema.items ? typeWords(schema.items) : "values"}`;
  if (schema.type === "string" && schema.pattern === handlePattern) return "handle";
  return schema.type ?? "any";
}

function wordsTable(): string {
  const rows: [string, readonly string[]][] = [
    ["Delivery state", deliveryStates],
    ["Verdict", verdicts],
    ["Delivery mode", deliveryModes],
    ["Presence", presences],
    ["CLI name", clientNames],
  ];
  return markdownTable(
    ["Kind", "Words"],
    rows.map(([kind, words]) => [kind, words.map((word) => `\`${word}\``).join(", ")]),
  );
}

function errorsTable(): string {
  const rows = Object.entries(errorCodes).map(([code, { summary, fatal, exit }]) => [
    `\`${code}\``,
    summary,
    fatal ? "ends" : "goes on",
    String(exit),
  ]);
  return markdownTable(["Code", "Meaning", "Connection", "Exit status of a command"], rows);
}

function constantsTable(): string {
  const rows: [string, string | number][] = [
    ["protocol version", protocolVersion],
    ["longest client line in bytes, newline not counted", lineBytesMax],
    ["time to authenticate in ms", authDeadlineMs],
    ["handles match", handlePattern],
    ...Object.entries(defaultLimits).map(([name, value]): [string, number] => [`limits.${name}`, value]),
  ];
  return markdownTable(
    ["Constant", "Value"],
    rows.map(([name, value]) => [name, `\`${value}\``]),
  );
}
