// Whether a home's broker runs, and ending it.
import { Client } from "../../client.ts";
import { type Holder, holder } from "../../holder.ts";
import type { HomePaths } from "../../home.ts";
import { ProtocolError } from "../../protocol/errors.ts";
import { realSystem } from "../../system.ts";

/** Whether a broker answers on the home's socket. Throws what is wrong with the home or the token. */
export async function answers(paths: HomePaths): Promise<boolean> {
  try {
    (await Client.connect({ paths })).close();
    return true;
  } catch (error) {
    if (error instanceof ProtocolError && error.code === "broker_down") return false;
    throw error;
  }
}

/** The process that answers on the socket, where the file that names it is missing. */
async function answering(paths: HomePaths): Promise<Holder | null> {
  if (!(await answers(paths))) return null;
  const client = await Client.connect({ paths });
  try {
    const { pid, version } = await client.call("stats", {});
    return { pid, version, start: realSystem.processStart(pid) ?? "" };
  } finally {
    client.close();
  }
}

/** Asks the broker to stop and waits until its process is gone. False when none was running; throws when it does not end within 5 s. */
export async function stopBroker(paths: HomePaths): Promise<boolean> {
  const running = holder(paths) ?? (await answering(paths));
  if (!running) return false;
  process.kill(running.pid, "SIGTERM");
  for (const deadline = performance.now() + 5_000; performance.now() < deadline; await Bun.sleep(20)) {
    if (realSystem.processStart(running.pid) !== running.start) return true;
  }
  throw new Error(`the broker (pid ${running.pid}) does not stop; end it with: kill -9 ${running.pid}`);
}
