// Calls into C libraries, for what Bun has no call of its own, or none that is as cheap.
import type { FFIFunction, Pointer } from "bun:ffi";

type Ffi = {
  dlopen(name: string, functions: Record<string, FFIFunction>): { symbols: unknown } | Error;
  read: { i32(from: Pointer, offset: number): number };
};
/** What `bun:ffi` is made of, under a name that Bun's types do not give: the module itself, with its checks and conversions, costs a hook half a millisecond. */
const ffi = (Bun as unknown as { FFI: Ffi }).FFI;

/**
 * The C library. musl takes every name that begins with `libc.` for itself; a name that is not found would be looked for in the current folder, so there
 * is no other to try.
 */
export const libc = process.platform === "darwin" ? "/usr/lib/libSystem.B.dylib" : "libc.so.6";

/** A function of C. Whatever points to something is a typed array, a number where C gave it, or null. */
export type Call = (...args: (number | Uint8Array | Uint32Array | Int32Array | null)[]) => number;

/** Functions of a library by their names, declared as for `bun:ffi`; of the C library where none is named. Throws where it lacks one of them. */
export function openLibrary<Name extends string>(functions: Record<Name, FFIFunction>, library: string = libc): Record<Name, Call> {
  const opened = ffi.dlopen(library, functions);
  if (opened instanceof Error) throw opened;
  return opened.symbols as Record<Name, Call>;
}

/** The 32-bit number at a place that C gave. */
export function numberAt(place: number): number {
  return ffi.read.i32(place as Pointer, 0);
}
