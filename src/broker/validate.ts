// One line to one request: UTF-8, JSON, envelope, schema. Every refusal names the field, what it must be and what came (semantics §2).
import { protocolVersion } from "../protocol/constants.ts";
import { ProtocolError } from "../protocol/errors.ts";
import type { RequestType } from "../protocol/schemas.ts";
import { hasVisible } from "../protocol/text.ts";
import { checkSources } from "./checks.ts" with { type: "macro" };
import { kindOf } from "./kind.ts";

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
const sources: Record<string, string> = checkSources();
const checks = new Map<RequestType, (fields: unknown) => boolean>();

/** The text of a line, or undefined where it is not UTF-8. */
export function decodeLine(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/** Text to a JSON object. Throws BadLine. */
export function parseLine(text: string | undefined): Record<string, unknown> {
  if (text === undefined) throw new BadLine(null, "the line is not UTF-8");
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
  if (!Object.hasOwn(sources, type)) throw new BadLine(id, `type ${JSON.stringify(type.slice(0, 60))} is unknown`);
  return { id, type: type as RequestType, fields: line };
}

/** Checks the fields of a request against its schema. Throws ProtocolError bad_request. */
export function checkFields(request: Request): void {
  let check = checks.get(request.type);
  if (!check) {
    check = new Function(sources[request.type] ?? "")() as (fields: unknown) => boolean;
    checks.set(request.type, check);
  }
  if (!check(request.fields)) throw new ProtocolError("bad_request", complain(request));
  const { body } = request.fields;
  if (typeof body === "string" && (request.type === "send" || request.type === "reply") && !hasVisible(body))
    throw new ProtocolError("bad_request", "body must have a visible character, and has none");
}

function complain({ type, fields }: Request): string {
  const { complaint }: typeof import("./complaint.ts") = require("./complaint.ts");
  return complaint(type, fields);
}
