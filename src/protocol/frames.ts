// The frames around requests: what a line of the wire looks like in both directions. No typebox here: hook mode and the client use it.
import { protocolVersion } from "./constants.ts";
import type { ErrorCode, ErrorData } from "./errors.ts";

/** A broker's answer to one request; `id` is null where the line had none that could be read. */
export type OkFrame = { v: number; id: number | null; ok: true; result: unknown };
export type ErrorFrame = { v: number; id: number | null; ok: false; error: { code: ErrorCode; message: string } & ErrorData };
export type EventFrame = { v: number; type: "event"; event: string; payload: unknown };
export type ServerFrame = OkFrame | ErrorFrame | EventFrame;

/** One request as a line with its newline. */
export function requestLine(id: number, type: string, fields: object): string {
  return `${JSON.stringify({ v: protocolVersion, id, type, ...fields })}\n`;
}

/** An answer as a line. `resultJson` is JSON text already, so that bodies are not copied twice. */
export function okLine(id: number, resultJson: string): string {
  return `{"v":${protocolVersion},"id":${id},"ok":true,"result":${resultJson}}\n`;
}

/** A refusal as a line. */
export function errorLine(id: number | null, code: ErrorCode, message: string, data?: ErrorData): string {
  return `${JSON.stringify({ v: protocolVersion, id, ok: false, error: { code, message, ...data } })}\n`;
}

/** An event as a line; `payloadJson` is JSON text. */
export function eventLine(event: string, payloadJson: string): string {
  return `{"v":${protocolVersion},"type":"event","event":"${event}","payload":${payloadJson}}\n`;
}
