// renn's plugin for opencode. Each session of the process has its own connection; subagents (sessions with a parent) have none. Messages go into the prompt or
// tool result that is being made, else into a prompt of their own, and are confirmed once an answer of the model stands in the session whose question had them.
import { BusLink, bus, inTime, Mail, rennHome, thisHost, within } from "./link.js";

const gatherMs = 200;
const askMs = 500;
/** `opencode run` ends at idle: a prompt of our own would be stored and never sent. */
const headless = process.argv[2] === "run";

function isPlaceholder(title) {
  return !title || /^(?:New|Child) session - \d{4}-/.test(title);
}

class Session {
  constructor(id, info, client, isNew) {
    this.id = id;
    this.client = client;
    this.mail = new Mail();
    this.busy = false;
    this.title = info.title;
    // A title from the start is the user's own; that of an old session may be opencode's.
    this.userTitle = isNew && !isPlaceholder(info.title) ? info.title : undefined;
    this.cwd = info.directory;
    this.pushedTexts = new Map();
    this.link = new BusLink(
      () => this.hello(),
      (event, payload) => this.heard(event, payload),
    );
    this.joined = this.link.ready.then(() => this.ask("session-start"));
  }

  hello() {
    return {
      client: "opencode",
      cliSessionId: this.id,
      host: thisHost(),
      cwd: this.cwd,
      ...(this.userTitle ? { title: this.userTitle.slice(0, 400) } : {}),
      source: "startup",
      headless,
      listen: !headless,
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
    if (!wake || this.timer || headless) return;
    this.timer = setTimeout(() => this.wake(), gatherMs);
    this.timer.unref?.();
  }

  async wake() {
    this.timer = undefined;
    // What is shown belongs to the message that chat.message is about to name.
    const mail = this.mail.empty ? null : this.mail.takeAll(undefined);
    if (!mail) return;
    this.pushedTexts.set(mail.text, mail.ids);
    try {
      const answer = await this.client.session.promptAsync({ path: { id: this.id }, body: { parts: [{ type: "text", text: mail.text }] } });
      if (answer?.error) throw new Error("refused");
    } catch {
      this.pushedTexts.delete(mail.text);
      this.mail.forget(mail.ids);
      // A connection that closes gives the messages back.
      this.link.socket?.destroy();
    }
  }

  /** A user message is being made: our own prompt, or one that can take what waits. */
  async message(output, late) {
    const id = output.message.id;
    const text = output.parts.find((part) => part.type === "text")?.text;
    const ids = this.pushedTexts.get(text);
    if (ids) {
      this.pushedTexts.delete(text);
      for (const messageId of ids) this.mail.stands(messageId, id);
      return;
    }
    this.busy = true;
    await within(askMs, this.joined);
    await this.link.report("prompt");
    if (headless) await this.ask("prompt");
    const mail = late() ? null : this.mail.takeAll(id);
    if (!mail) return;
    const part = { id: `prt_renn${Date.now().toString(36)}${Math.random().toString(36).slice(2, 10)}`, sessionID: this.id, messageID: id };
    output.parts.push({ ...part, type: "text", text: mail.text, synthetic: true });
  }

  /** A tool has run: its result can take what waits. Proof is a later answer to the same question. */
  async toolDone(output, late) {
    if (headless) await this.ask("post-tool");
    if (late() || typeof output.output !== "string") return;
    const mail = this.mail.empty ? null : this.mail.takeAll({ afterTool: Date.now() });
    if (mail) output.output += `\n\n${mail.text}`;
  }

  /** A row of the session was written. Only an answer that is finished proves; ids of opencode grow with time. */
  updated(info) {
    if (info.role !== "assistant" || !info.finish || info.error) return;
    const began = info.time?.created ?? 0;
    const ids = this.mail.proven((place) =>
      typeof place === "string" ? place <= info.parentID : place !== undefined && began >= place.afterTool,
    );
    if (ids.length) this.link.send("delivered", { ids });
  }

  mood(busy) {
    if (this.busy === busy) return;
    this.busy = busy;
    void this.link.report(busy ? "prompt" : "stop");
  }

  /** The first title after the placeholder is opencode's own, made from the first prompt; only a later one is the user's. */
  rename(title) {
    if (!title || title === this.title) return;
    const made = isPlaceholder(this.title);
    this.title = title;
    if (made) return;
    this.userTitle = title;
    void this.link.report(this.busy ? "prompt" : "stop");
  }

  end() {
    this.link.send("session", { ...this.hello(), event: "session-end", listen: false });
    this.link.close();
  }
}

export const Renn = async ({ client }) => {
  const sessions = new Map();
  const parents = new Map();

  /** The session of that id, or null for a subagent's. */
  async function sessionOf(id) {
    if (!id) return null;
    if (!sessions.has(id) && !parents.has(id)) {
      const found = await within(askMs, client.session.get({ path: { id } }));
      if (found?.data) know(found.data, false);
    }
    return sessions.get(id) ?? null;
  }

  function know(info, isNew) {
    if (!info?.id) return;
    if (info.parentID) parents.set(info.id, info.parentID);
    else if (!sessions.has(info.id)) sessions.set(info.id, new Session(info.id, info, client, isNew));
    else sessions.get(info.id).rename(info.title);
  }

  /** Whose session a tool call or shell belongs to: a subagent speaks as the session that started it. */
  function rootOf(id) {
    let at = id;
    for (let n = 0; parents.has(at) && n < 16; n++) at = parents.get(at);
    return at;
  }

  const handlers = {
    "session.created": (p) => know(p.info, true),
    "session.updated": (p) => sessions.has(p.info?.id) && know(p.info, false),
    "session.deleted": (p) => {
      sessions.get(p.info?.id)?.end();
      sessions.delete(p.info?.id);
    },
    "session.status": (p) => sessions.get(p.sessionID)?.mood(p.status?.type === "busy"),
    "session.idle": (p) => sessions.get(p.sessionID)?.mood(false),
    "message.updated": (p) => sessions.get(p.info?.sessionID)?.updated(p.info),
  };

  /** Nothing of ours may fail a prompt or a tool. */
  const safely = (act) => async (input, output) => void (await inTime(1_000, (late) => act(input, output, late)));

  return {
    event: safely(async ({ event }) => handlers[event.type]?.(event.properties ?? {})),
    "chat.message": safely(async (input, output, late) => (await sessionOf(input.sessionID))?.message(output, late)),
    "tool.execute.before": safely(async (input, output) => {
      if (input.tool.startsWith("renn_") && output.args) output.args.renn_session = rootOf(input.sessionID);
    }),
    "tool.execute.after": safely(async (input, output, late) => sessions.get(input.sessionID)?.toolDone(output, late)),
    "shell.env": safely(async (input, output) => {
      if (input.sessionID) output.env.RENN_SESSION = rootOf(input.sessionID);
      if (bus.home && !process.env.RENN_HOME) output.env.RENN_HOME = rennHome;
    }),
    dispose: safely(async () => {
      for (const session of sessions.values()) session.end();
    }),
  };
};
