// From the wire's TypeBox schemas to what a tool list shows: the same fields and words at a fraction of the tokens. The broker checks the rest.
import type { TObject, TSchema } from "@sinclair/typebox";

/** A JSON schema of an object, as MCP wants it for tools. */
export type ObjectSchema = { type: "object"; properties: Record<string, FieldSchema>; required?: string[] };

/** As much of a JSON schema as one field needs here. */
export type FieldSchema = { type: string | string[]; enum?: string[]; items?: FieldSchema; description?: string };

/** How a tool takes a field of the wire: with what description, or under the wire's own. */
export type Arguments = Record<string, string | true>;

const isNull = (schema: TSchema) => schema.type === "null";
const words = (schema: TSchema): string[] | null => {
  const options: TSchema[] = schema.anyOf ?? [];
  return options.length > 0 && options.every((option) => option.const !== undefined) ? options.map((option) => String(option.const)) : null;
};

/** Type, words and items; limits, patterns and ids are left to the broker, which names the field that it refuses. */
function shape(schema: TSchema): FieldSchema {
  const list = words(schema);
  if (list) return { type: "string", enum: list };
  const option = (schema.anyOf as TSchema[] | undefined)?.find((candidate) => !isNull(candidate));
  if (option) return shape(option);
  return schema.type === "array" ? { type: "array", items: shape(schema.items) } : { type: schema.type };
}

/** The arguments of a tool: the named fields of a request. Required is what the wire requires, but for `optional`. */
export function argumentSchema(fields: TObject, taken: Arguments, optional: readonly string[] = []): ObjectSchema {
  const names = Object.keys(taken);
  const required = names.filter((name) => fields.required?.includes(name) && !optional.includes(name));
  const properties = Object.fromEntries(names.map((name) => [name, argument(fields.properties[name], taken[name])]));
  return { type: "object", properties, ...(required.length ? { required } : {}) };
}

function argument(schema: TSchema | undefined, words: string | true | undefined): FieldSchema {
  if (!schema) throw new Error("a tool takes a field that its request does not have");
  const description = words === true ? schema.description : words;
  return { ...shape(schema), ...(description ? { description } : {}) };
}

/** What a tool gives: the names and types of a result's own fields. What stands inside arrays the text and docs/protocol.md tell. */
export function resultSchema(...results: TObject[]): ObjectSchema {
  const fields = results.flatMap((result) => Object.entries(result.properties));
  const always = results.length === 1 ? results[0]?.required : undefined;
  return {
    type: "object",
    properties: Object.fromEntries(fields.map(([name, schema]) => [name, { type: outerType(schema) }])),
    ...(always?.length ? { required: always } : {}),
  };
}

function outerType(schema: TSchema): string | string[] {
  if (words(schema)) return "string";
  const types = [
    ...new Set((schema.anyOf as TSchema[] | undefined)?.map((option) => outerType(option) as string) ?? [schema.type as string]),
  ];
  return types.length === 1 && types[0] ? types[0] : types;
}
