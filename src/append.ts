// Adding to a log, whoever may have put something else in its place.
import { appendFileSync, closeSync, constants, fstatSync, openSync } from "node:fs";

const flags =
  constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

/** Adds `text` to a file, which is made with mode 0600 where it is missing. Never waits; throws for a link, a FIFO and all else that is no file. */
export function appendPrivate(path: string, text: string): void {
  const fd = openSync(path, flags, 0o600);
  try {
    if (!fstatSync(fd).isFile()) throw new Error(`${path} is no regular file`);
    appendFileSync(fd, text);
  } finally {
    closeSync(fd);
  }
}
