// renn's extension for Hummin and for pi, which it is made of. One process holds one conversation. Messages go in as custom messages: steering a running turn,
// starting one where the session is idle; they are confirmed once the model has answered a request that had them.
import { BusLink, bus, inTime, Mail, thisHost, within } from "./link.js";

const gatherMs = 200;
const actMs = 1_000;
const sources = { startup: "startup", reload: "startup", new: "clear", resume: "resume", fork: "fork" };

/** A conversation, from its session_start to its session_shutdown. */
class Conversation {
  constructor(pi, event, ctx) {
    this.pi = pi;
    this.id = ctx.sessionManager.getSessionId();
    this.file = ctx.sessionManager.getSessionFile?.();
    this.cwd = ctx.cwd;
    this.name = pi.getSessionName?.();
    this.source = sources[event.reason] ?? "startup";
    this.headless = ctx.hasUI === false;
    this.busy = false;
    this.mail = new Mail();
    this.inRequest = new Set();
    this.link = new BusLink(
      () => this.hello(),
      (name, payload) => this.heard(name, payload),
    );
    this.joined = this.link.ready.then(() => this.ask("session-start"));
  }

  hello() {
    return {
      client: "hummin",
      cliSessionId: this.id,
      host: thisHost(),
      cwd: this.cwd,
      ...(this.file ? { transcriptPath: this.file } : {}),
      ...(this.name ? { title: String(this.name).slice(0, 400) } : {}),
      source: this.source,
      headless: this.headless,
      listen: !this.headless,
      busy: this.busy,
      version: bus.version,
    };
  }

  async ask(event) {
    this.mail.hooked(await this.link.hook(event));
  }

  heard(event, payload) {
    const { wake, again } = this.mail.heard(event, payload);
    if (again.length) this.link.send("delivered", { ids: again });
    if (!wake || this.timer || this.headless) return;
    this.timer = setTimeout(() => this.wake(), gatherMs);
    this.timer.unref?.();
  }

  /** What waits, as the message that pi stores and the model gets. */
  takeMessage() {
    const mail = this.mail.takeAll("sent");
    return mail ? { customType: "renn", content: mail.text, display: true, details: { ids: mail.ids } } : null;
  }

  wake() {
    this.timer = undefined;
    const message = this.link.closed || this.mail.empty ? null : this.takeMessage();
    if (!message) return;
    try {
      this.pi.sendMessage(message, { deliverAs: this.busy ? "steer" : "followUp", triggerTurn: !this.headless });
    } catch {
      this.mail.forget(message.details.ids);
      this.link.socket?.destroy();
    }
  }

  async turnStarts(late) {
    this.busy = true;
    await within(500, this.joined);
    await this.link.report("prompt");
    if (this.headless) await this.ask("prompt");
    const message = late() ? null : this.takeMessage();
    return message ? { message } : undefined;
  }

  /** A tool has run: what waits goes into the next request, not into one after it. */
  async toolDone() {
    if (this.headless) await this.ask("post-tool");
    this.wake();
  }

  /** A request to the model is being made of these messages. */
  requested(messages) {
    for (const message of messages) if (message.customType === "renn") for (const id of message.details?.ids ?? []) this.inRequest.add(id);
  }

  /** The model has answered: what was in its request has reached it. */
  answered(message) {
    if (message.role !== "assistant" || message.stopReason === "error" || message.stopReason === "aborted") return;
    for (const id of this.inRequest) this.mail.stands(id, "answered");
    this.inRequest.clear();
    const ids = this.mail.proven((place) => place === "answered");
    if (ids.length) this.link.send("delivered", { ids });
  }

  renamed(name) {
    this.name = name;
    void this.link.report(this.busy ? "prompt" : "stop");
  }

  async settled() {
    this.busy = false;
    await this.link.report("stop");
  }

  end(quits) {
    if (quits) this.link.send("session", { ...this.hello(), event: "session-end", listen: false });
    this.link.close();
  }
}

// biome-ignore lint/style/noDefaultExport: it is what pi loads of an extension
export default function renn(pi) {
  let now = null;
  /** Nothing of ours may disturb the session. */
  const on = (event, act) => pi.on(event, async (payload, ctx) => (await inTime(actMs, (late) => act(payload, ctx, late))) ?? undefined);
  on("session_start", (event, ctx) => {
    now?.end(false);
    now = new Conversation(pi, event, ctx);
  });
  on("session_shutdown", (event) => {
    now?.end(event.reason === "quit");
    now = null;
  });
  on("session_info_changed", (event) => now?.renamed(event.name));
  on("before_agent_start", (_event, _ctx, late) => now?.turnStarts(late));
  on("tool_execution_end", () => now?.toolDone());
  on("context", (event) => now?.requested(event.messages));
  on("message_end", (event) => now?.answered(event.message));
  on("agent_start", () => {
    if (now) now.busy = true;
  });
  on("agent_settled", () => now?.settled());
}
