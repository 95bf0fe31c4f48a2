// What every command does around its own work: who it is, the connection, and that it is closed again.
import type { Command } from "commander";
import type { ClientOptions } from "../../client.ts";
import { homePaths } from "../../home.ts";
import { ProtocolError } from "../../protocol/errors.ts";
import { type Acting, act, type WhoOptions } from "./identity.ts";
import { UsageError } from "./output.ts";

/** Options that every command takes. */
export type Common = WhoOptions & { json?: boolean };

/** A command's options with those of the program. */
export function optionsOf<T extends object = object>(command: Command): T & Common {
  return command.optsWithGlobals();
}

/** Throws UsageError for a RENN_HOME that can be none: a mistake in what the command was given, not a refusal of the bus. */
export function checkHome(): void {
  try {
    homePaths();
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

/** How often work is begun again after the broker closed under it: a restart closes once. */
const againMax = 2;

/**
 * Runs `work` on a connection that acts as whoever the options and surroundings say, and closes it. A broker that stops under it is
 * followed to the next one, with the work begun again: what it asks for must bear to be asked twice. `once` is for work that does not.
 */
export async function withBus<T>(
  options: Common,
  work: (me: Acting) => Promise<T>,
  clientOptions: ClientOptions & { once?: boolean } = {},
): Promise<T> {
  if (options.as !== undefined && options.owner) throw new UsageError("--as and --owner exclude each other");
  for (let again = 0; ; again++) {
    try {
      return await connected(options, work, clientOptions);
    } catch (error) {
      const closed = error instanceof ProtocolError && error.code === "broker_closed";
      if (!closed || clientOptions.once || again >= againMax) throw error;
    }
  }
}

async function connected<T>(options: Common, work: (me: Acting) => Promise<T>, clientOptions: ClientOptions): Promise<T> {
  const me = await act(options, clientOptions);
  try {
    return await work(me);
  } finally {
    me.client.close();
  }
}

/** Collects an option that may be given several times. */
export const gather = (value: string, before: string[] | undefined): string[] => [...(before ?? []), value];
