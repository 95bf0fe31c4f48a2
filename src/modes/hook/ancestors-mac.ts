// The processes above a hook on macOS, by libproc: `ps` would take longer than the whole hook.
import type { Ancestor } from "../../clis/cli.ts";
import { openLibrary } from "../../libc.ts";

/** PROC_PIDTBSDINFO and the size of struct proc_bsdinfo (sys/proc_info.h). */
const flavor = 3;
const size = 136;
const offsets = { ppid: 16, comm: 48, commBytes: 16, pgid: 100, tdev: 108, startSeconds: 120 };
/** The device number of no terminal. */
const noDevice = -1;

/** As `ancestors` on Linux; `start` is the second since 1970, as the broker has it. */
export function macAncestors(pid: number, levelsMax: number): Ancestor[] {
  const library = openLibrary({ proc_pidinfo: { args: ["i32", "i32", "u64", "ptr", "i32"], returns: "i32" } }, "/usr/lib/libproc.dylib");
  const bytes = new Uint8Array(size);
  const view = new DataView(bytes.buffer);
  const chain: Ancestor[] = [];
  for (let at = pid; at > 1 && chain.length < levelsMax; ) {
    if (library.proc_pidinfo(at, flavor, 0, bytes, size) !== size) break;
    const name = new TextDecoder().decode(bytes.subarray(offsets.comm, offsets.comm + offsets.commBytes)).split("\0")[0] ?? "";
    const tty = view.getInt32(offsets.tdev, true);
    chain.push({
      pid: at,
      start: String(view.getBigUint64(offsets.startSeconds, true)),
      name,
      group: view.getUint32(offsets.pgid, true),
      tty: tty === noDevice ? 0 : tty,
    });
    at = view.getUint32(offsets.ppid, true);
  }
  return chain;
}
