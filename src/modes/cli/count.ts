// `renn inbox --count`: the number of unread messages, for prompts and status lines. Without the command library, because it must be quick.
import { act } from "./identity.ts";
import { failed, print } from "./output.ts";
import { checkHome } from "./run.ts";

/** Prints the caller's number of unread messages and ends the process. */
export async function count(): Promise<never> {
  try {
    checkHome();
    const me = await act({});
    await print(String((await me.client.call("whoami", {})).unread));
    process.exit(0);
  } catch (error) {
    process.exit(failed(error));
  }
}
