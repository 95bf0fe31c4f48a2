// The C library, for what Bun has no call of its own, or none that is as cheap.
import { dlopen, type FFIFunction } from "bun:ffi";

/** The C library under the names that it has here: macOS, Linux with glibc, with musl. */
const names =
  process.platform === "darwin"
    ? ["/usr/lib/libSystem.B.dylib"]
    : ["libc.so.6", `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`];

/** Its functions by name, as `bun:ffi` declares them. Throws where the library has another name or lacks one of them. */
export function openLibc<Fns extends Record<string, FFIFunction>>(functions: Fns) {
  for (const name of names.slice(0, -1))
    try {
      return dlopen(name, functions).symbols;
    } catch {
      // It has the other name here.
    }
  return dlopen(names.at(-1) ?? "", functions).symbols;
}
