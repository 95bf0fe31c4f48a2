// What every command does around its own work: who it is, the connection, and that it is closed again.
import type { Command } from "commander";
import type { ClientOptions } from "../../client.ts";
import { type Acting, act, type WhoOptions } from "./identity.ts";
import { UsageError } from "./output.ts";

/** Options that every command takes. */
export type Common = WhoOptions & { json?: boolean };

/** A command's options with those of the program. */
export function optionsOf<T extends object = object>(command: Command): T & Common {
  return command.optsWithGlobals();
}

/** Runs `work` on a connection that acts as whoever the options and surroundings say, and closes it. */
export async function withBus<T>(options: Common, work: (me: Acting) => Promise<T>, clientOptions: ClientOptions = {}): Promise<T> {
  if (options.as !== undefined && options.owner) throw new UsageError("--as and --owner exclude each other");
  const me = await act(options, clientOptions);
  try {
    return await work(me);
  } finally {
    me.client.close();
  }
}

/** Collects an option that may be given several times. */
export const gather = (value: string, before: string[] | undefined): string[] => [...(before ?? []), value];
