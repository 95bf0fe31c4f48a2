// config.json of a home (semantics §12).
import { existsSync, readFileSync } from "node:fs";
import { defaultLimits, handlePattern, type Limits } from "../../protocol/constants.ts";
import { StartError } from "./home.ts";

/** What a person can set. */
export type Config = { owner: string; replies: "woken" | "all"; limits: Limits; retentionDays: number; codexResume: boolean };

const defaults: Config = { owner: "renn", replies: "woken", limits: defaultLimits, retentionDays: 0, codexResume: false };

/** The home's configuration. An unknown key or a bad value stops the start (StartError) with its name and what it may be. */
export function readConfig(path: string): Config {
  if (!existsSync(path)) return defaults;
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new StartError(`${path} is not JSON: ${String(error instanceof Error ? error.message : error)}`);
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) throw new StartError(`${path} must hold a JSON object`);
  const config = { ...defaults };
  for (const [key, given] of Object.entries(value)) {
    if (!Object.hasOwn(checks, key))
      throw new StartError(`${path}: unknown key ${JSON.stringify(key)}; known are ${Object.keys(checks).join(", ")}`);
    const check = checks[key as keyof Config];
    const wrong = check(given);
    if (wrong) throw new StartError(`${path}: ${key} ${wrong}, and is ${JSON.stringify(given)}`);
    Object.assign(config, { [key]: key === "limits" ? { ...defaultLimits, ...(given as object) } : given });
  }
  return config;
}

const checks: { [K in keyof Config]: (value: unknown) => string | null } = {
  owner: (value) => (typeof value === "string" && new RegExp(handlePattern).test(value) ? null : `must be a handle (${handlePattern})`),
  replies: (value) => (value === "woken" || value === "all" ? null : 'must be "woken" or "all"'),
  retentionDays: (value) => (isCount(value, 0) ? null : "must be a whole number of days, 0 = for ever"),
  codexResume: (value) => (typeof value === "boolean" ? null : "must be true or false"),
  limits: limitsFault,
};

const isCount = (value: unknown, least: number) =>
  Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= 2 ** 40;

function limitsFault(value: unknown): string | null {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return "must be an object";
  for (const [name, given] of Object.entries(value)) {
    if (!Object.hasOwn(defaultLimits, name))
      return `has no limit ${JSON.stringify(name)}; known are ${Object.keys(defaultLimits).join(", ")}`;
    if (!isCount(given, 1)) return `.${name} must be a whole number of at least 1`;
  }
  return null;
}
