// Codex runs a hook only once its exact definition is trusted. This is the hash that it compares, computed as it does.
import { createHash } from "node:crypto";

type Handler = { type: string; command: string; timeout?: number };

/** The key of a hook in `hooks.state`: the file, the event in snake case, the places of group and handler. */
export function trustKey(hooksFile: string, event: string, group: number, handler: number): string {
  return `${hooksFile}:${snakeCase(event)}:${group}:${handler}`;
}

/** The hash of a hook without matcher, by the time-out that holds (600 s where none is given). */
export function trustHash(event: string, handler: Handler): string {
  const hook = { async: false, command: handler.command, timeout: handler.timeout ?? 600, type: handler.type };
  const text = JSON.stringify({ event_name: snakeCase(event), hooks: [hook] });
  return `sha256:${createHash("sha256").update(text).digest("hex")}`;
}

function snakeCase(event: string): string {
  return event.replace(/(?<=[a-z])(?=[A-Z])/g, "_").toLowerCase();
}
