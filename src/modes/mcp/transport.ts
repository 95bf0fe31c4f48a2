// Standard input and output as the library's transport, with the two things that it does not tell: when an answer has been written, and which resources a
// 2026-era client listens to (the library serves that request by itself).
import type { JSONRPCMessage } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";

type RequestId = string | number;

/** The stdio transport; knows when an answer is out. */
export class ObservedStdio extends StdioServerTransport {
  private readonly waiting = new Map<RequestId, () => void>();

  /** Runs `then` once the answer to `id` is written. Forgotten when the request is cancelled, for then nothing is written. */
  whenAnswered(id: RequestId, signal: AbortSignal, then: () => void): void {
    this.waiting.set(id, then);
    signal.addEventListener("abort", () => this.waiting.delete(id));
  }

  override async send(message: JSONRPCMessage): Promise<void> {
    await super.send(message);
    if ("method" in message || message.id === undefined) return;
    const then = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    then?.();
  }
}

/** The addresses that a `subscriptions/listen` request asks for; empty for every other message. */
export function listenedUris(message: JSONRPCMessage): string[] {
  if (!("method" in message) || message.method !== "subscriptions/listen") return [];
  const filter = message.params?.notifications as { resourceSubscriptions?: unknown } | undefined;
  const uris = filter?.resourceSubscriptions;
  return Array.isArray(uris) ? uris.filter((uri) => typeof uri === "string") : [];
}
