// Lines for the broker: made from the schemas, with fields that are right, hostile, missing or of another type; and lines that are no requests at all.
import type { TObject, TSchema } from "@sinclair/typebox";
import { type RequestType, requests } from "../../src/protocol/schemas.ts";
import { type Chance, hostileBytes, hostileNumber, hostileString, hostileValue, mutated, pick } from "./hostile.ts";

const types = Object.keys(requests) as RequestType[];
/** Most of what goes on a bus. */
const usual: readonly RequestType[] = ["send", "send", "send", "reply", "reply", "hook", "fetch-push", "thread", "read"];
/** Names that exist, nearly exist, or must not. */
const names = ["ann", "bob", "cat", "dan", "red", "blue", "@red", "@all", "renn", "all", "codex-x", "zz", "ann-2"];
const below = (chance: Chance, most: number) => Math.floor(chance() * most);

function oneString(chance: Chance, schema: TSchema, name: string): string {
  // What people write is where forgeries would be.
  const free = ["body", "display", "role", "title", "cwd", "references"].includes(name);
  if (free && chance() < 0.7) return `${hostileString(chance).slice(0, 200)}x`.slice(0, (schema.maxLength as number | undefined) ?? 5_000);
  if (schema.pattern || chance() < 0.6) return pick(chance, names);
  return hostileString(chance).slice(0, (schema.maxLength as number | undefined) ?? 5_000);
}

/** A value that the schema takes, mostly one that means something on this bus. */
function fitting(chance: Chance, schema: TSchema, name = ""): unknown {
  if (schema.anyOf) return fitting(chance, pick(chance, schema.anyOf as TSchema[]), name);
  if ("const" in schema) return schema.const;
  if (schema.type === "string") return oneString(chance, schema, name);
  if (schema.type === "integer") return Math.max((schema.minimum as number | undefined) ?? 0, below(chance, 12));
  if (schema.type === "number") return below(chance, 1_000);
  if (schema.type === "boolean") return chance() < 0.5;
  if (schema.type === "null") return null;
  if (schema.type === "array") return Array.from({ length: 1 + below(chance, 3) }, () => fitting(chance, schema.items as TSchema, name));
  return schema.type === "object" ? fields(chance, schema as TObject, 0.02) : hostileValue(chance);
}

function fields(chance: Chance, schema: TObject, wild: number): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  const required = new Set(schema.required ?? []);
  for (const [name, property] of Object.entries(schema.properties)) {
    if (chance() < (required.has(name) ? wild / 2 : 0.6)) continue;
    out[name] = chance() < wild ? pick(chance, [hostileValue, hostileString, hostileNumber])(chance) : fitting(chance, property, name);
  }
  if (chance() < wild) out[hostileString(chance).slice(0, 30)] = hostileValue(chance);
  return out;
}

/** A request as an object; `id` is what its answer will carry where it has one. */
export function request(chance: Chance, id: number): Record<string, unknown> {
  const type = chance() < 0.4 ? pick(chance, usual) : pick(chance, types);
  const wild = pick(chance, [0, 0, 0.1, 0.5]);
  const line: Record<string, unknown> = { v: 2, id, type, ...fields(chance, requests[type].fields as TObject, wild) };
  // A wait that holds back what follows for minutes would make the run long and prove nothing.
  if (type === "wait") line.timeoutMs = 0;
  // Everything that was ever said, again and again, is megabytes an answer.
  if (type === "export" && chance() < 0.95) line.sinceId = Number.MAX_SAFE_INTEGER;
  if (type === "auth") line.token = hostileString(chance);
  if (chance() < 0.03) line[pick(chance, ["v", "id", "type"])] = hostileValue(chance);
  return line;
}

/** One line without its newline. */
export function wildLine(chance: Chance, id: number): Uint8Array {
  const kind = chance();
  if (kind < 0.03) return withoutNewlines(hostileBytes(chance, 300));
  const text = kind < 0.06 ? (JSON.stringify(hostileValue(chance)) ?? "") : JSON.stringify(request(chance, id));
  if (kind < 0.9) return new TextEncoder().encode(text);
  if (kind < 0.92) return new TextEncoder().encode(`${"[".repeat(below(chance, 20_000))}${text}`);
  return withoutNewlines(new TextEncoder().encode(mutated(chance, text)));
}

function withoutNewlines(bytes: Uint8Array): Uint8Array {
  return bytes.map((byte) => (byte === 10 ? 32 : byte));
}
