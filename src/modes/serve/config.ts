// config.json of a home (semantics §12).
import { existsSync, readFileSync } from "node:fs";
import { defaultLimits, handlePattern, type Limits } from "../../protocol/constants.ts";
import { StartError } from "./home.ts";

/** What a person can set. */
export type Config = { owner: string; replies: "woken" | "all"; limits: Limits; retentionDays: number; codexResume: boolean };

/** Reserved handles that stand for others than the person. */
const notThePerson = ["all", "system", "broker"];
const isOwnerName = (value: unknown) => typeof value === "string" && new RegExp(handlePattern).test(value) && !notThePerson.includes(value);

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
    const wrong = checks[key as keyof Config](given);
    if (wrong) throw new StartError(`${path}: ${wrong}`);
    Object.assign(config, { [key]: key === "limits" ? { ...defaultLimits, ...(given as object) } : given });
  }
  return config;
}

/** What is wrong with the value of a key, as a sentence; null where nothing is. */
const checks: { [K in keyof Config]: (value: unknown) => string | null } = {
  owner: (value) => must("owner", value, isOwnerName(value), `a handle (${handlePattern}), and none of ${notThePerson.join(", ")}`),
  replies: (value) => must("replies", value, value === "woken" || value === "all", '"woken" or "all"'),
  retentionDays: (value) => must("retentionDays", value, isCount(value, 0), "a whole number of days, 0 = for ever"),
  codexResume: (value) => must("codexResume", value, typeof value === "boolean", "true or false"),
  limits: limitsFault,
};

function must(name: string, value: unknown, right: boolean, what: string): string | null {
  return right ? null : `${name} must be ${what}, and is ${JSON.stringify(value)}`;
}

const isCount = (value: unknown, least: number) =>
  Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= 2 ** 40;

function limitsFault(value: unknown): string | null {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return must("limits", value, false, "an object");
  for (const [name, given] of Object.entries(value)) {
    if (!Object.hasOwn(defaultLimits, name))
      return `limits has no ${JSON.stringify(name)}; known are ${Object.keys(defaultLimits).join(", ")}`;
    if (!isCount(given, 1)) return must(`limits.${name}`, given, false, "a whole number of at least 1");
  }
  return null;
}
