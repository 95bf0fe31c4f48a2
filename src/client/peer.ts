// Who is at the other end of a Unix socket, as the kernel says (semantics §1).
import { dlopen, FFIType, ptr } from "bun:ffi";

const macOs = process.platform === "darwin";
const solSocket = 1;
const soPeerCred = 17;
/** The C library under the names that it has here: Linux with glibc, with musl, macOS. */
const libraries = macOs
  ? ["/usr/lib/libSystem.B.dylib"]
  : ["libc.so.6", `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`];
const { i32, ptr: pointer } = FFIType;

/** The user id of the process that listens at the other end of a connected socket, or null where the platform does not tell. */
export function peerUid(fd: number): number | null {
  for (const library of libraries)
    try {
      return macOs ? byGetPeerEid(library, fd) : byPeerCred(library, fd);
    } catch {
      // Another C library; where none is found the checks of the socket's file and folder have to do.
    }
  return null;
}

function byPeerCred(library: string, fd: number): number | null {
  const { symbols } = dlopen(library, { getsockopt: { args: [i32, i32, i32, pointer, pointer], returns: i32 } });
  const credentials = new Uint32Array(3);
  const size = new Uint32Array([credentials.byteLength]);
  const failed = symbols.getsockopt(fd, solSocket, soPeerCred, ptr(credentials), ptr(size));
  return failed ? null : (credentials[1] ?? null);
}

function byGetPeerEid(library: string, fd: number): number | null {
  const { symbols } = dlopen(library, { getpeereid: { args: [i32, pointer, pointer], returns: i32 } });
  const uid = new Uint32Array(1);
  const gid = new Uint32Array(1);
  const failed = symbols.getpeereid(fd, ptr(uid), ptr(gid));
  return failed ? null : (uid[0] ?? null);
}
