// Who is at the other end of a Unix socket, as the kernel says (semantics §1).
import { dlopen, FFIType, ptr } from "bun:ffi";
import { libc } from "./libc.ts";

/** The process at the other end of a connected socket. */
export type PeerCredentials = { uid: number; pid: number };

const macOs = process.platform === "darwin";
const { i32, ptr: pointer } = FFIType;

function openGetters() {
  try {
    return dlopen(libc, {
      getsockopt: { args: [i32, i32, i32, pointer, pointer], returns: i32 },
      ...(macOs ? { getpeereid: { args: [i32, pointer, pointer], returns: i32 } } : {}),
    }).symbols as unknown as { getsockopt: (...args: unknown[]) => number; getpeereid?: (...args: unknown[]) => number };
  } catch {
    // There is no such library here.
    return null;
  }
}

let library: ReturnType<typeof openGetters> | undefined;

/** User and process id of the other end, or null where the platform does not tell. */
export function peerCredentials(fd: number): PeerCredentials | null {
  if (library === undefined) library = openGetters();
  if (!library) return null;
  return macOs ? macCredentials(library, fd) : linuxCredentials(library, fd);
}

function linuxCredentials(symbols: NonNullable<typeof library>, fd: number): PeerCredentials | null {
  const [solSocket, soPeerCred] = [1, 17];
  // struct ucred { pid, uid, gid }
  const credentials = new Uint32Array(3);
  const size = new Uint32Array([credentials.byteLength]);
  const failed = symbols.getsockopt(fd, solSocket, soPeerCred, ptr(credentials), ptr(size));
  return failed ? null : { pid: credentials[0] ?? 0, uid: credentials[1] ?? 0 };
}

function macCredentials(symbols: NonNullable<typeof library>, fd: number): PeerCredentials | null {
  const [solLocal, localPeerPid] = [0, 2];
  const pid = new Uint32Array(1);
  const size = new Uint32Array([pid.byteLength]);
  const uid = new Uint32Array(1);
  const gid = new Uint32Array(1);
  if (symbols.getpeereid?.(fd, ptr(uid), ptr(gid)) || symbols.getsockopt(fd, solLocal, localPeerPid, ptr(pid), ptr(size))) return null;
  return { pid: pid[0] ?? 0, uid: uid[0] ?? 0 };
}
