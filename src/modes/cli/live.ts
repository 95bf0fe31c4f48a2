// The line under a running wait that says who is still missing. On a terminal only; it lives on standard error and leaves nothing behind.

import type { Result } from "../../protocol/schemas.ts";
import { harmlessLine } from "../../protocol/text.ts";
import { act } from "./identity.ts";
import type { Common } from "./run.ts";
import { fitColumns } from "./style.ts";
import { isTerminal } from "./terminal.ts";

/** Shows and keeps up to date who has not answered; null where standard error is no terminal. */
export async function liveMissing(options: Common, ask: { threadId: number; messageId?: number }): Promise<{ end: () => void } | null> {
  if (!isTerminal(2)) return null;
  const begun = performance.now();
  const fields = { threadId: ask.threadId, ...(ask.messageId === undefined ? {} : { messageId: ask.messageId }) };
  let matrix: Result<"collect"> | null = null;
  let ended = false;
  const draw = () => {
    if (matrix && !ended)
      process.stderr.write(`\r\x1b[K${fitColumns(missing(matrix, performance.now() - begun), (process.stderr.columns || 80) - 1)}`);
  };
  // The wait holds its own connection; what changes meanwhile comes over a second one.
  const watcher = await act(options, { onEvent: () => void refresh() });
  const refresh = async () => {
    try {
      matrix = await watcher.client.call("collect", fields);
      draw();
    } catch {
      // The line is only a comfort; the wait itself tells what goes wrong.
    }
  };
  await watcher.client.call("watch", { threadId: ask.threadId });
  await refresh();
  const timer = setInterval(draw, 1000);
  const end = () => {
    if (ended) return;
    ended = true;
    clearInterval(timer);
    watcher.client.close();
    process.stderr.write("\r\x1b[K");
  };
  return { end };
}

function missing(matrix: Result<"collect">, ms: number): string {
  const open = matrix.recipients.filter((row) => row.replyMessageId === null);
  const who = open.map((row) => `${harmlessLine(row.handle)} (${row.presence}, ${row.state})`).join(", ");
  return `${matrix.recipients.length - open.length}/${matrix.recipients.length} answered · ${Math.round(ms / 1000)} s · waiting for ${who || "nobody"}`;
}
