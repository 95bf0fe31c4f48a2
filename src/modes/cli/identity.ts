// Who a command is (semantics §11): the session in whose process tree it runs, else the owner; --as and --owner decide otherwise.
import { Client, type ClientOptions } from "../../client.ts";
import { type ClientName, handlePattern } from "../../protocol/constants.ts";
import { ProtocolError } from "../../protocol/errors.ts";
import { version } from "../../version.ts";
import { UsageError, warn } from "./output.ts";

/** What `--as` and `--owner` say. */
export type WhoOptions = { as?: string; owner?: boolean };
/** The connection of a command, and who it is. */
export type Acting = { client: Client; handle: string; owner: boolean; via: string | null };

type Env = Record<string, string | undefined>;
type Hint = { client: ClientName; sessionHint: string };

/** Session ids that a CLI puts into the environment of its agent's shell, many-session programs first. */
function environmentHints(env: Env): Hint[] {
  const all: [ClientName, string | undefined][] = [
    ["codex", env.CODEX_THREAD_ID],
    ["opencode", env.RENN_SESSION],
    ["hummin", env.PI_SESSION_ID],
  ];
  return all.flatMap(([client, sessionHint]) => (sessionHint ? [{ client, sessionHint }] : []));
}

const validHandle = new RegExp(handlePattern);

/** Throws UsageError where a name is no handle, saying where it stands. */
function checkName(name: string | undefined, where: string): void {
  if (name !== undefined && !validHandle.test(name))
    throw new UsageError(`${where} must be lowercase letters, digits and hyphens, 2 to 48 characters, and is ${JSON.stringify(name)}`);
}

/** Connects (starting the broker where needed) and becomes whoever this command is. */
export async function act(who: WhoOptions, options: ClientOptions = {}): Promise<Acting> {
  checkName(who.as, "--as");
  if (who.as === undefined) checkName(process.env.RENN_HANDLE || undefined, "RENN_HANDLE");
  const client = await Client.connect({ start: true, ...options });
  try {
    return { client, ...(await become(client, who, process.env)) };
  } catch (error) {
    client.close();
    throw error;
  }
}

async function become(client: Client, who: WhoOptions, env: Env): Promise<Omit<Acting, "client">> {
  const me = { clientKind: "cli", version } as const;
  const asHandle = (handle: string) => client.call("register", { ...me, handle });
  // The first look is as the owner: it makes nobody, and its `via` names the nearest live session.
  const outside = await client.call("register", { ...me, owner: true });
  if (who.as !== undefined) return who.as === outside.handle ? outside : asHandle(who.as);
  if (who.owner) return outside;
  const hinted = await bindHint(client, await preferredHints(environmentHints(env), outside.via !== null));
  const session = hinted ?? (outside.via === null ? null : await asHandle(outside.via));
  const named = env.RENN_HANDLE || undefined;
  if (session) {
    if (named !== undefined && named !== session.handle)
      warn(`RENN_HANDLE=${named} is not used: this shell belongs to the session ${session.handle} (--as ${named} speaks as it)`);
    return session;
  }
  if (named === undefined) return outside;
  return named === outside.handle ? outside : asHandle(named);
}

/** Inside a live session the environment counts only where the nearest CLI is the one that wrote it and holds many sessions in one process. */
async function preferredHints(hints: Hint[], insideSession: boolean): Promise<Hint[]> {
  if (!hints.length || !insideSession) return hints;
  const { nearestCli } = await import("./processes.ts");
  const nearest = nearestCli(process.ppid);
  return hints.filter((hint) => hint.client === nearest && hint.client !== "hummin");
}

async function bindHint(client: Client, hints: Hint[]) {
  for (const hint of hints) {
    try {
      return await client.call("register", { clientKind: "cli", version, ...hint });
    } catch (error) {
      if (!(error instanceof ProtocolError) || error.code !== "unknown_handle") throw error;
    }
  }
  return null;
}
