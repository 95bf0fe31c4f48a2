// Why the fields of a request are not what its schema wants, in words. Loaded when a first line is refused.
import type { TSchema } from "@sinclair/typebox";
import { Errors } from "@sinclair/typebox/errors";
import { type RequestType, requests } from "../protocol/schemas.ts";
import { kindOf } from "./kind.ts";

/** Names the first field that is wrong, what it must be and what came (semantics §2). */
export function complaint(type: RequestType, fields: Record<string, unknown>): string {
  const error = Errors(requests[type].fields, fields).First();
  if (!error) return "the fields are not what the protocol says";
  const field = error.path.slice(1).replaceAll("/", ".") || type;
  return `${field} must be ${wanted(error.schema)}, and is ${kindOf(error.value)}`;
}

/** What a schema wants, in words. */
function wanted(schema: TSchema): string {
  if (schema.anyOf) return (schema.anyOf as TSchema[]).map(wanted).join(" or ");
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.type === "string") {
    if (schema.pattern) return `a string that matches ${schema.pattern}`;
    const parts = [schema.minLength ? `at least ${schema.minLength}` : "", schema.maxLength ? `at most ${schema.maxLength}` : ""].filter(
      Boolean,
    );
    return parts.length ? `a string of ${parts.join(" and ")} characters` : "a string";
  }
  if (schema.type === "integer" || schema.type === "number") {
    const kind = schema.type === "integer" ? "an integer" : "a number";
    if (schema.minimum === undefined) return kind;
    const top = schema.maximum === Number.MAX_SAFE_INTEGER || schema.maximum === undefined ? "" : ` and at most ${schema.maximum}`;
    return `${kind} of at least ${schema.minimum}${top}`;
  }
  if (schema.type === "array") {
    const least = schema.minItems ? `at least ${schema.minItems} and ` : "";
    return `an array${schema.maxItems ? ` of ${least}at most ${schema.maxItems} items` : ""}`;
  }
  return schema.type === "boolean" ? "true or false" : schema.type === "null" ? "null" : "an object";
}
