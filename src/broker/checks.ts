// Runs while the program is built (a macro of Bun's bundler; under `bun test` while the importing file is read): the source of each request's check.
// A broker then starts without the schema library, which is a fifth of a start and 2.6 MiB.
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { requests } from "../protocol/schemas.ts";

/** By request type: the body of a function that returns the check of its fields, as JavaScript. */
export function checkSources(): Record<string, string> {
  return Object.fromEntries(Object.entries(requests).map(([type, { fields }]) => [type, TypeCompiler.Code(fields)]));
}
