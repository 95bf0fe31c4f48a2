// Standard input and output as the library's transport, with the two things that it does not tell: when an answer has been written, and which resources a
// 2026-era client listens to (the library serves that request by itself).
import type { JSONRPCMessage } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";

type RequestId = string | number;

/** Quiet after the last answer before memory is given back, in ms. */
const quietMs = 500;

/** The stdio transport; knows when an answer is out. */
export class ObservedStdio extends StdioServerTransport {
  private readonly waiting = new Map<RequestId, () => void>();
  private quiet: ReturnType<typeof setTimeout> | null = null;

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
    this.tidy();
  }

  /** One such server runs in every session of the machine, and mostly does nothing: then it should hold no more than it needs. */
  private tidy(): void {
    if (this.quiet) clearTimeout(this.quiet);
    this.quiet = setTimeout(() => {
      Bun.gc(true);
      Bun.shrink();
    }, quietMs);
    this.quiet.unref();
  }
}

/** The addresses that a `subscriptions/listen` request asks for; empty for every other message. */
export function listenedUris(message: JSONRPCMessage): string[] {
  if (!("method" in message) || message.method !== "subscriptions/listen") return [];
  const filter = message.params?.notifications as { resourceSubscriptions?: unknown } | undefined;
  const uris = filter?.resourceSubscriptions;
  return Array.isArray(uris) ? uris.filter((uri) => typeof uri === "string") : [];
}
