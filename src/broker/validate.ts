// One line to one request: UTF-8, JSON, envelope, schema. Every refusal names the field, what it must be and what came (semantics §2).
import type { TObject, TSchema } from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler } from "@sinclair/typebox/compiler";
import { protocolVersion } from "../protocol/constants.ts";
import { ProtocolError } from "../protocol/errors.ts";
import { type RequestType, requests } from "../protocol/schemas.ts";
import { hasVisible } from "../protocol/text.ts";

/** A line as a request whose envelope is right; `fields` is the whole object, extra fields and all. */
export type Request = { id: number; type: RequestType; fields: Record<string, unknown> };

/** A line that is no request; `id` is null where it had none that can be used. */
export class BadLine extends Error {
  readonly id: number | null;
  constructor(id: number | null, message: string) {
    super(message);
    this.id = id;
  }
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const checks = new Map<RequestType, TypeCheck<TObject>>();

/** Bytes to a JSON object. Throws BadLine. */
export function parseLine(bytes: Uint8Array): Record<string, unknown> {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    throw new BadLine(null, "the line is not UTF-8");
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new BadLine(null, "the line is not JSON: one JSON object a line is expected");
  }
  if (value === null || typeof value !== "object" || Array.isArray(value))
    throw new BadLine(null, `the line must be a JSON object, and is ${kindOf(value)}`);
  return value as Record<string, unknown>;
}

/** The id of a line, or null where it cannot be used. */
function idOf(line: Record<string, unknown>): number | null {
  const { id } = line;
  return typeof id === "number" && Number.isSafeInteger(id) && id >= 0 ? id : null;
}

/** Checks version, id and type. Throws BadLine. */
export function envelope(line: Record<string, unknown>): Request {
  const id = idOf(line);
  if (id === null) throw new BadLine(null, `id must be a non-negative safe integer, and is ${kindOf(line.id)}`);
  if (line.v !== protocolVersion)
    throw new BadLine(id, `v must be ${protocolVersion}, and is ${kindOf(line.v)}: this broker speaks protocol version ${protocolVersion}`);
  const { type } = line;
  if (typeof type !== "string") throw new BadLine(id, `type must be a string, and is ${kindOf(type)}`);
  if (!Object.hasOwn(requests, type)) throw new BadLine(id, `type ${JSON.stringify(type.slice(0, 60))} is unknown`);
  return { id, type: type as RequestType, fields: line };
}

/** Checks the fields of a request against its schema. Throws ProtocolError bad_request. */
export function checkFields(request: Request): void {
  let check = checks.get(request.type);
  if (!check) {
    check = TypeCompiler.Compile(requests[request.type].fields as TObject);
    checks.set(request.type, check);
  }
  if (!check.Check(request.fields)) throw new ProtocolError("bad_request", complaint(request, check));
  const { body } = request.fields;
  if (typeof body === "string" && (request.type === "send" || request.type === "reply") && !hasVisible(body))
    throw new ProtocolError("bad_request", "body must have a visible character, and has none");
}

function complaint(request: Request, check: TypeCheck<TObject>): string {
  const error = check.Errors(request.fields).First();
  if (!error) return "the fields are not what the protocol says";
  const field = error.path.slice(1).replaceAll("/", ".") || request.type;
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

/** What came, in words short enough for an error. */
function kindOf(value: unknown): string {
  if (value === undefined) return "missing";
  if (value === null || typeof value === "boolean" || typeof value === "number") return String(value);
  if (typeof value === "string") return value.length > 60 ? `a string of ${value.length} characters` : JSON.stringify(value);
  return Array.isArray(value) ? `an array of ${value.length}` : "an object";
}
