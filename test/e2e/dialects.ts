// The four model APIs that the CLIs speak, as far as a scripted answer needs them. Pure: a request's body in, an answer's body out.

/** What the stand-in model answers: words, or a call of a tool. */
export type Step = { say: string } | { tool: string; input: Record<string, unknown> };

type Body = Readonly<Record<string, unknown>>;

/** One API. */
export type Dialect = {
  /** Whether a request is one of the conversation itself, not a side query (titles, classifiers). */
  main(body: Body): boolean;
  /** Names of the tools offered. */
  tools(body: Body): string[];
  /** The answer as a body and its type. */
  answer(step: Step, body: Body, n: number): { type: string; text: string };
};

const json = "application/json";
const events = "text/event-stream";

function list(value: unknown): Body[] {
  return Array.isArray(value) ? value : [];
}

function eventStream(frames: Body[]): { type: string; text: string } {
  return { type: events, text: frames.map((f) => `event: ${f.type}\ndata: ${JSON.stringify(f)}\n\n`).join("") };
}

const anthropic: Dialect = {
  tools: (body) => list(body.tools).map((t) => String(t.name)),
  main: (body) => list(body.tools).length > 3,
  answer(step, body, n) {
    const block =
      "say" in step ? { type: "text", text: step.say } : { type: "tool_use", id: `toolu_fake${n}`, name: step.tool, input: step.input };
    const stop = "say" in step ? "end_turn" : "tool_use";
    const usage = { input_tokens: 10, output_tokens: 5, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
    const message = { id: `msg_fake${n}`, type: "message", role: "assistant", model: body.model, stop_sequence: null, usage };
    if (body.stream !== true) return { type: json, text: JSON.stringify({ ...message, content: [block], stop_reason: stop }) };
    const [empty, delta] =
      "say" in step
        ? [
            { type: "text", text: "" },
            { type: "text_delta", text: step.say },
          ]
        : [
            { ...block, input: {} },
            { type: "input_json_delta", partial_json: JSON.stringify(step.input) },
          ];
    return eventStream([
      { type: "message_start", message: { ...message, content: [], stop_reason: null } },
      { type: "content_block_start", index: 0, content_block: empty },
      { type: "content_block_delta", index: 0, delta },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: stop, stop_sequence: null }, usage: { output_tokens: 5 } },
      { type: "message_stop" },
    ]);
  },
};

/** Codex groups MCP tools by server: a name `server/tool` is a tool of that group. */
const responses: Dialect = {
  tools: (body) => list(body.tools).map((t) => String(t.name ?? t.type)),
  main: (body) => list(body.tools).length > 0,
  answer(step, _body, n) {
    const id = `resp_${n}`;
    const item = "say" in step ? said(step.say, n) : called(step, n);
    const usage = {
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 5,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 15,
    };
    return eventStream([
      { type: "response.created", response: { id } },
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response: { id, usage } },
    ]);
  },
};

function said(text: string, n: number): Body {
  return { type: "message", id: `msg_${n}`, role: "assistant", content: [{ type: "output_text", text, annotations: [] }] };
}

function called(step: Extract<Step, { tool: string }>, n: number): Body {
  const [group, name] = step.tool.includes("/") ? step.tool.split("/") : [undefined, step.tool];
  const call = { type: "function_call", id: `fc_${n}`, call_id: `call_${n}`, name, arguments: JSON.stringify(step.input) };
  return group === undefined ? call : { ...call, namespace: group };
}

const chat: Dialect = {
  tools: (body) => list(body.tools).map((t) => String((t.function as Body | undefined)?.name)),
  main: (body) => list(body.tools).length > 0,
  answer(step, body, n) {
    const delta =
      "say" in step
        ? { content: step.say }
        : {
            tool_calls: [
              { index: 0, id: `call_${n}`, type: "function", function: { name: step.tool, arguments: JSON.stringify(step.input) } },
            ],
          };
    const finish = "say" in step ? "stop" : "tool_calls";
    const usage = { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 };
    const base = { id: `c${n}`, created: 1, model: "fake" };
    if (body.stream !== true) {
      const message = { role: "assistant", ...delta };
      return {
        type: json,
        text: JSON.stringify({ ...base, object: "chat.completion", choices: [{ index: 0, message, finish_reason: finish }], usage }),
      };
    }
    const chunk = (choice: Body, more: Body = {}) =>
      `data: ${JSON.stringify({ ...base, object: "chat.completion.chunk", choices: [{ index: 0, ...choice }], ...more })}\n\n`;
    const frames =
      chunk({ delta: { role: "assistant", content: "" } }) + chunk({ delta }) + chunk({ delta: {}, finish_reason: finish }, { usage });
    return { type: events, text: `${frames}data: [DONE]\n\n` };
  },
};

const gemini: Dialect = {
  tools: (body) => list(body.tools).flatMap((t) => list(t.functionDeclarations).map((f) => String(f.name))),
  main: (body) => list(body.tools).length > 0 && !asksJson(body),
  answer(step, body, _n) {
    const words = asksJson(body) ? JSON.stringify({ next_speaker: "user", reasoning: "x", model_choice: "flash", title: "x" }) : "x";
    const part = "tool" in step ? { functionCall: { name: step.tool, args: step.input } } : { text: asksJson(body) ? words : step.say };
    const chunk = {
      candidates: [{ content: { role: "model", parts: [part] }, finishReason: "STOP", index: 0 }],
      usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 5, totalTokenCount: 10 },
      modelVersion: "fake",
    };
    return { type: json, text: JSON.stringify(chunk) };
  },
};

function asksJson(body: Body): boolean {
  const config = body.generationConfig as Body | undefined;
  return config?.responseMimeType === json || config?.responseJsonSchema !== undefined;
}

/** The API that a request path belongs to, and whether its answer is a stream of `data:` lines around one object. */
export function dialectOf(path: string): { dialect: Dialect; wrap: boolean } | null {
  if (path.endsWith("/v1/messages")) return { dialect: anthropic, wrap: false };
  if (path.endsWith("/responses")) return { dialect: responses, wrap: false };
  if (path.endsWith("/chat/completions")) return { dialect: chat, wrap: false };
  if (path.includes(":streamGenerateContent")) return { dialect: gemini, wrap: true };
  return path.includes(":generateContent") ? { dialect: gemini, wrap: false } : null;
}
