// Whether a descriptor is a terminal. `node:tty` and `process.stdout` would know too, and cost 5 to 20 ms of every command.
import { fstatSync, statSync } from "node:fs";

/** True for a character device other than /dev/null. */
export function isTerminal(fd: 0 | 1 | 2): boolean {
  try {
    const stats = fstatSync(fd);
    return stats.isCharacterDevice() && stats.rdev !== statSync("/dev/null").rdev;
  } catch {
    return false;
  }
}
