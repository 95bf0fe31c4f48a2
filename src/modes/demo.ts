// demo: the bus at work within seconds, with a real broker process and real connections, in a home of its own that goes away again.
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { selfCommand } from "../client/start.ts";
import { Client, type ClientEvent } from "../client.ts";
import { type HomePaths, homePaths } from "../home.ts";
import type { ClientName, Verdict } from "../protocol/constants.ts";
import type { PushPayload, Result } from "../protocol/schemas.ts";
import { visible } from "../protocol/text.ts";
import { realSystem } from "../system.ts";
import { deliveryTable, matrixTable, wholeMessage } from "./cli/message.ts";
import { Exit, printJson } from "./cli/output.ts";
import { bold, cyan, dim, green, hanging, indented, peer, terminalWidth, verdict, yellow } from "./cli/style.ts";

const begun = performance.now();
const patienceMs = 5_000;

/** Columns behind the time, in a pipe too: this is read, and shown in pictures. */
const indent = 9;
const width = Math.min(terminalWidth(), 80);
const room = width - indent;

let quiet = false;
/** Throws EPIPE where the reader has left; to end the process here would leave the home and the broker behind. */
const print = async (text: string) => void (quiet || (await Bun.write(Bun.stdout, `${text}\n`)));

/** Prints a step with the time since the start. */
const step = (text: string) =>
  print(`\n${dim(`${((performance.now() - begun) / 1000).toFixed(2).padStart(5)} s`)}  ${hanging(bold(text), indent, width)}`);
const tell = (text: string) => print(indented(text, indent, width));

/** What `--json` prints of a demo that went well. */
type Outcome = { ok: true; durationMs: number; matrix: Result<"wait">["matrix"]; messages: Result<"thread">["messages"] };

/** Runs the demo; throws when anything does not come out as told. However it ends, by signals too, broker and home go away. */
export async function demo(options: { json?: boolean }): Promise<void> {
  quiet = options.json === true;
  const interrupted = signalled();
  const home = mkdtempSync(`${tmpdir()}/renn-demo-`);
  const stage = new Stage(homePaths({ RENN_HOME: home }));
  const leave = async () => {
    await stage.close();
    rmSync(home, { recursive: true, force: true });
  };
  try {
    const outcome = await Promise.race([stage.open().then(() => play(stage)), interrupted]);
    await leave();
    if (options.json) return printJson(outcome);
    await step("Done. The broker is stopped and its home removed.");
    await tell(`Next: ${cyan(`${ownName()} init`)} lets your own sessions join.`);
  } catch (error) {
    if ((error as { code?: string }).code !== "EPIPE") throw error;
  } finally {
    await leave();
  }
}

/** Rejects at the first signal that asks the demo to end, with the status that a shell expects. */
function signalled(): Promise<never> {
  return new Promise((_, reject) => {
    for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, () => reject(new Exit(128 + constants.signals[name])));
  });
}

/** How the one who runs this can run it again: `renn` only where that leads to this program. */
function ownName(): string {
  const [program = "renn", ...entry] = selfCommand([]);
  const found = Bun.which("renn");
  if (!entry.length && found && realpathSync(found) === realpathSync(program)) return "renn";
  const here = `${process.cwd()}/`;
  const near = (path: string) => (path.startsWith(here) ? `./${path.slice(here.length)}` : path);
  return [program, ...entry]
    .map((word) => (/^[\w./-]+$/.test(near(word)) ? near(word) : `'${near(word).replaceAll("'", "'\\''")}'`))
    .join(" ");
}

/** One session: a connection that listens, and a process that stands for its CLI. */
type Actor = { handle: string; client: Client; host: Bun.Subprocess; inbox: PushPayload[]; arrived: () => void };

/** The broker, the processes and the connections of the demo, all of which end with it. */
class Stage {
  private readonly paths: HomePaths;
  private broker: Bun.Subprocess | null = null;
  private readonly hosts: Bun.Subprocess[] = [];
  private readonly clients: Client[] = [];
  private closed = false;
  constructor(paths: HomePaths) {
    this.paths = paths;
  }

  async open(): Promise<void> {
    const env = { ...process.env, RENN_HOME: this.paths.home };
    this.broker = Bun.spawn(selfCommand(["broker", "run"]), { env, cwd: "/", stdio: ["ignore", "ignore", "ignore"] });
    for (const deadline = performance.now() + patienceMs; ; await Bun.sleep(10)) {
      try {
        return (await Client.connect({ paths: this.paths })).close();
      } catch (error) {
        if (performance.now() > deadline) throw error;
      }
    }
  }

  async owner(): Promise<Client> {
    const client = await this.connect(() => {});
    await client.call("register", { clientKind: "cli", owner: true });
    return client;
  }

  /** A session starts, or comes back under the same id. */
  async session(handle: string, cli: ClientName, source: "startup" | "resume"): Promise<Actor> {
    if (this.closed) throw new Error("the demo has ended");
    const host = Bun.spawn(["sleep", "60"], { stdio: ["ignore", "ignore", "ignore"] });
    this.hosts.push(host);
    const actor: Omit<Actor, "client"> = { handle, host, inbox: [], arrived: () => {} };
    const client = await this.connect((event) => {
      if (event.event !== "push") return;
      actor.inbox.push(event.payload);
      actor.arrived();
    });
    const hostStart = realSystem.processStart(host.pid) ?? "";
    await client.call("session", {
      event: "session-start",
      client: cli,
      cliSessionId: `demo-${handle}`,
      host: { hostPid: host.pid, hostStart },
      cwd: `/demo/${handle}`,
      handle,
      source,
      listen: true,
    });
    return Object.assign(actor, { client });
  }

  private async connect(onEvent: (event: ClientEvent) => void): Promise<Client> {
    const client = await Client.connect({ paths: this.paths, onEvent });
    if (this.closed) client.close();
    this.clients.push(client);
    return client;
  }

  async close(): Promise<void> {
    this.closed = true;
    for (const client of this.clients) client.close();
    for (const host of this.hosts) host.kill();
    this.broker?.kill("SIGTERM");
    await this.broker?.exited;
  }
}

/** The next message of a session; confirmed, as an adapter does once its CLI has taken the text. */
async function take(actor: Actor): Promise<PushPayload> {
  const deadline = performance.now() + patienceMs;
  while (!actor.inbox.length) {
    if (performance.now() > deadline) throw new Error(`${actor.handle} was sent nothing`);
    const { promise, resolve } = Promise.withResolvers<void>();
    actor.arrived = resolve;
    await Promise.race([promise, Bun.sleep(100)]);
  }
  const push = actor.inbox.shift() as PushPayload;
  await actor.client.call("delivered", { ids: [push.message.id] });
  return push;
}

async function answer(actor: Actor, push: PushPayload, word: Verdict, body: string): Promise<void> {
  // A model thinks for a moment; long enough here to read along.
  await Bun.sleep(500);
  await actor.client.call("reply", { messageId: push.message.id, body, verdict: word });
  await step(`${peer(actor.handle)} replies: ${verdict(word)}`);
  await tell(body);
}

async function play(stage: Stage): Promise<Outcome> {
  await step("A broker runs in a home of its own. Three sessions join.");
  const owner = await stage.owner();
  const web = await stage.session("claude-web", "claude", "startup");
  const api = await stage.session("codex-api", "codex", "startup");
  const docs = await stage.session("gemini-docs", "gemini", "startup");
  await owner.call("groups", { action: "create", name: "team", members: [web.handle, api.handle, docs.handle] });
  await tell(`${[web, api, docs].map((actor) => peer(actor.handle)).join(", ")} are the group ${bold("@team")}.`);
  await step(`The terminal of ${peer(docs.handle)} crashes.`);
  docs.host.kill("SIGKILL");
  await docs.host.exited;
  docs.client.close();
  await step("The owner asks @team, and waits for all of them.");
  const sent = await owner.call("send", { threadId: null, to: ["@team"], body: "Shall we ship 2.0 today? Tests are green." });
  await tell(deliveryTable(sent.deliveries, room));
  const waiting = owner.call("wait", { threadId: sent.threadId, until: "all_replied", timeoutMs: 30_000, confirm: true });
  // Where the demo ends early, nobody hears of it.
  waiting.catch(() => {});
  await consult(stage, web, api);
  return showEnd(await waiting, stage);
}

async function consult(stage: Stage, web: Actor, api: Actor): Promise<void> {
  const asked = await take(web);
  await step(`What ${peer(web.handle)} is shown in its session:`);
  await tell(cyan(visible(asked.text)));
  await tell(dim("By its tag the session knows that the text is of the bus, and not typed by you."));
  await answer(web, asked, "agree", "Yes. The new pages work on every browser that we support.");
  await answer(api, await take(api), "disagree", "No: the migration takes 40 minutes. Let us ship tonight.");
  await Bun.sleep(300);
  await step("gemini-docs comes back, and gets what was queued for it.");
  const back = await stage.session("gemini-docs", "gemini", "resume");
  const late = await take(back);
  await tell(yellow(visible(late.text.split("\n")[0] ?? "")));
  await answer(back, late, "info", "The changelog is written either way.");
}

async function showEnd(result: Result<"wait">, stage: Stage): Promise<Outcome> {
  if (!result.conditionMet) throw new Error("the wait ended before all had replied");
  await step(green("The owner's wait ends: all have replied."));
  await tell(matrixTable(result.matrix, room));
  const reader = await stage.owner();
  const thread = await reader.call("thread", { threadId: result.threadId, full: true });
  await step(`Thread ${result.threadId}, as renn thread ${result.threadId} --full shows it:`);
  await tell(thread.messages.map((message) => wholeMessage(message, true, room)).join("\n"));
  return { ok: true, durationMs: Math.round(performance.now() - begun), matrix: result.matrix, messages: thread.messages };
}
