// Bytes to lines, with a cap. Pure: no clock, no sockets.
import { lineBytesMax } from "./protocol/constants.ts";

const newline = 10;
const carriageReturn = 13;

/** Pieces of an unfinished line that are kept apart at the most. */
const partsMax = 1024;

/** What a splitter finds: a line without its newline, or the news that one was longer than the cap (nothing follows that). */
export type SplitLine = Uint8Array | "too-long";

/**
 * Splits a byte stream at LF (U+2028 and CR are text; one CR before the LF is dropped). Never buffers more than one capped line:
 * past `maxBytes` without a newline it says "too-long" once and swallows the rest.
 */
export class LineSplitter {
  private parts: Uint8Array[] = [];
  private size = 0;
  private dead = false;
  private readonly maxBytes: number;
  constructor(maxBytes: number = lineBytesMax) {
    this.maxBytes = maxBytes;
  }

  /** Takes the next bytes and hands every line that they complete to `emit`. The bytes are copied where they must be kept. */
  push(bytes: Uint8Array, emit: (line: SplitLine) => void): void {
    let from = 0;
    while (!this.dead) {
      const at = bytes.indexOf(newline, from);
      const end = at < 0 ? bytes.length : at;
      // One byte of grace for the CR of a CRLF.
      if (this.size + end - from > this.maxBytes + 1) return this.overflow(emit);
      if (at < 0) {
        if (end > from) this.keep(bytes.slice(from));
        return;
      }
      const line = trimCarriageReturn(this.size ? this.join(bytes.subarray(from, end)) : bytes.subarray(from, end));
      if (line.length > this.maxBytes) return this.overflow(emit);
      emit(line);
      from = at + 1;
    }
  }

  private keep(part: Uint8Array): void {
    // Many small pieces become one: each costs far more than its bytes.
    const kept = this.parts.length < partsMax ? part : this.join(part);
    this.parts.push(kept);
    this.size += kept.length;
  }

  private join(last: Uint8Array): Uint8Array {
    const line = new Uint8Array(this.size + last.length);
    let at = 0;
    for (const part of this.parts) {
      line.set(part, at);
      at += part.length;
    }
    line.set(last, at);
    this.parts = [];
    this.size = 0;
    return line;
  }

  private overflow(emit: (line: SplitLine) => void): void {
    this.dead = true;
    this.parts = [];
    this.size = 0;
    emit("too-long");
  }
}

function trimCarriageReturn(line: Uint8Array): Uint8Array {
  return line.length && line[line.length - 1] === carriageReturn ? line.subarray(0, -1) : line;
}
