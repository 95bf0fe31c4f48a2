// The C library, for what Bun has no call of its own, or none that is as cheap.
import { dlopen, type FFIFunction } from "bun:ffi";

/** musl takes every name that begins with `libc.` for itself. A name that is not found would be looked for in the current folder, so there is no other to try. */
const name = process.platform === "darwin" ? "/usr/lib/libSystem.B.dylib" : "libc.so.6";

/** Its functions by name, as `bun:ffi` declares them. Throws where it lacks one of them. */
export function openLibc<Fns extends Record<string, FFIFunction>>(functions: Fns) {
  return dlopen(name, functions).symbols;
}
