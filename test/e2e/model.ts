// A stand-in for the model behind one CLI session: a loopback HTTP server that answers as it is told and keeps every request.
import { dialectOf, type Step } from "./dialects.ts";
import { until } from "./poll.ts";

/** A step, or what makes one of the request's text. */
export type Turn = Step | ((request: string) => Step);

/** The model of one session. */
export class Model {
  /** Bodies of the conversation's requests, in order. */
  readonly requests: string[] = [];
  /** Tools that the last request offered. */
  tools: string[] = [];
  private readonly turns: Turn[] = [];
  private readonly server: Bun.Server<undefined>;
  private subagent: { is: (request: string) => boolean; turns: Turn[] } | undefined;
  private paused = Promise.resolve();
  private count = 0;

  constructor() {
    this.server = Bun.serve({ hostname: "127.0.0.1", port: 0, idleTimeout: 0, fetch: (request) => this.answer(request) });
  }

  get url(): string {
    return `http://127.0.0.1:${this.server.port}`;
  }

  /** What the next requests are answered; after these it says "done". */
  script(...turns: Turn[]): void {
    this.turns.push(...turns);
  }

  /** What the requests of a subagent are answered, which are those that `is` names. */
  scriptSubagent(is: (request: string) => boolean, ...turns: Turn[]): void {
    this.subagent = { is, turns };
  }

  /** The number of the first request from `from` on that has the text, once there is one. */
  async saw(text: string, from = 0, ms?: number): Promise<number> {
    const at = await until(
      () => `a model request with ${JSON.stringify(text)} (${this.requests.length} requests)`,
      () => 1 + this.requests.findIndex((r, i) => i >= from && r.includes(inJson(text))),
      ms,
    );
    return at - 1;
  }

  /** Whether request `n` has the text. */
  has(n: number, text: string): boolean {
    return this.requests[n]?.includes(inJson(text)) ?? false;
  }

  /** Holds the answers back until the function that it gives is called. */
  pause(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.paused = promise;
    return resolve;
  }

  /** The end of the conversation in request `n`, for a failure's words. */
  tail(n: number): string {
    const body = JSON.parse(this.requests[n] ?? "{}") as Record<string, unknown>;
    return JSON.stringify(body.messages ?? body.input ?? body.contents ?? null).slice(-1500);
  }

  stop(): void {
    void this.server.stop(true);
  }

  private async answer(request: Request): Promise<Response> {
    const path = new URL(request.url).pathname;
    const found = dialectOf(path);
    const body = await readBody(request);
    if (process.env.E2E_TRACE) console.error(`${request.method} ${path} ${JSON.stringify(body).slice(0, 200)}`);
    if (!found || body === null) return other(path, request.method);
    const { dialect, wrap } = found;
    const main = dialect.main(body);
    const text = JSON.stringify(body);
    if (main) {
      this.requests.push(text);
      if (process.env.E2E_DUMP)
        await Bun.write(`${process.env.E2E_DUMP}/${this.server.port}-${this.requests.length}.json`, JSON.stringify(body, null, 1));
      this.tools = dialect.tools(body);
    }
    const turns = this.subagent?.is(text) ? this.subagent.turns : this.turns;
    const turn = main ? turns.shift() : undefined;
    if (main) await this.paused;
    const step = stepOf(turn, text);
    const answer = dialect.answer(step, body, ++this.count);
    if (wrap) return new Response(`data: ${answer.text}\n\n`, { headers: { "content-type": "text/event-stream" } });
    return new Response(answer.text, { headers: { "content-type": answer.type } });
  }
}

/** A turn that cannot be made of the request is said, so that the CLI ends and the scenario tells what is missing. */
function stepOf(turn: Turn | undefined, request: string): Step {
  try {
    return typeof turn === "function" ? turn(request) : (turn ?? { say: "done" });
  } catch (error) {
    return { say: `no answer: ${error instanceof Error ? error.message : error}` };
  }
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

async function readBody(request: Request): Promise<Record<string, unknown> | null> {
  try {
    const bytes = new Uint8Array(await request.arrayBuffer());
    const plain = request.headers.get("content-encoding") === "zstd" ? await Bun.zstdDecompress(bytes) : bytes;
    return JSON.parse(new TextDecoder().decode(plain));
  } catch {
    return null;
  }
}

/** Everything beside the conversation: model lists, token counts, probes. */
function other(path: string, method: string): Response {
  if (method === "HEAD") return new Response(null);
  if (path.endsWith("/count_tokens")) return Response.json({ input_tokens: 10 });
  if (path.includes(":countTokens")) return Response.json({ totalTokens: 10 });
  if (path.endsWith("/models")) return Response.json({ object: "list", data: [], models: [] });
  return Response.json({ type: "error", error: { type: "not_found_error", message: "no such thing here", code: 404 } }, { status: 404 });
}
