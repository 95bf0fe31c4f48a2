// Lines out of bytes, however they are cut, and never more kept than one of them may be (semantics §2).
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { lineBytesMax } from "../src/protocol/constants.ts";
import { LineSplitter, type SplitLine } from "../src/wire.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const shown = (line: SplitLine) => (line === "too-long" ? line : new TextDecoder().decode(line));

/** What a splitter says to bytes that come in these pieces. The pieces are overwritten afterwards, as a socket does with its buffer. */
function split(pieces: Uint8Array[], max?: number): string[] {
  const splitter = new LineSplitter(max);
  const lines: string[] = [];
  for (const piece of pieces) {
    const buffer = piece.slice();
    splitter.push(buffer, (line) => lines.push(shown(line)));
    buffer.fill(0x2a);
  }
  return lines;
}

/** Bytes cut at the given places. */
function cutAt(whole: Uint8Array, cuts: number[]): Uint8Array[] {
  const places = [0, ...cuts.map((c) => c % (whole.length + 1)).sort((a, b) => a - b), whole.length];
  return places.slice(1).map((end, n) => whole.subarray(places[n], end));
}

describe("LineSplitter", () => {
  test("gives the same lines however the bytes are cut", () => {
    const line = fc.string({ unit: "binary", maxLength: 30 }).map((s) => s.replaceAll(/[\n\r]/g, ""));
    fc.assert(
      fc.property(fc.array(line, { maxLength: 20 }), fc.array(fc.nat(), { maxLength: 30 }), fc.boolean(), (lines, cuts, crlf) => {
        const end = crlf ? "\r\n" : "\n";
        const whole = bytes(lines.map((l) => l + end).join(""));
        expect(split(cutAt(whole, cuts))).toEqual(lines.map((l) => new TextDecoder().decode(bytes(l))));
      }),
    );
  });

  test("takes lines of up to the limit, CR not counted, and says of longer ones once that they are too long, wherever they are cut", () => {
    fc.assert(
      fc.property(fc.nat(12), fc.boolean(), fc.array(fc.nat(), { maxLength: 6 }), fc.nat(3), (length, crlf, cuts, before) => {
        const line = "x".repeat(length);
        const whole = bytes(`${"ab\n".repeat(before)}${line}${crlf ? "\r\n" : "\n"}later\n`);
        const wanted = [...Array(before).fill("ab"), ...(length > 8 ? ["too-long"] : [line, "later"])];
        expect(split(cutAt(whole, cuts), 8)).toEqual(wanted);
      }),
    );
  });

  test("LF alone ends a line: other separators are text, and of several CR only the last goes", () => {
    expect(split([bytes("a\u2028b\u0085c\u000bd\re\r\r\n\n\r\n")])).toEqual(["a\u2028b\u0085c\u000bd\re\r", "", ""]);
  });

  test("what has no end yet is no line", () => {
    expect(split([bytes("abc"), bytes("def")])).toEqual([]);
    expect(split([bytes("abc\r"), bytes("\n")])).toEqual(["abc"]);
    expect(split([new Uint8Array(0), bytes("\n"), new Uint8Array(0)])).toEqual([""]);
  });

  test("a line that never ends is refused as soon as it is too long, and nothing of it or after it is kept", () => {
    const splitter = new LineSplitter();
    const lines: SplitLine[] = [];
    const piece = new Uint8Array(65_536).fill(0x78);
    let given = 0;
    for (; !lines.length; given += piece.length) splitter.push(piece, (line) => lines.push(line));
    expect(given).toBeLessThanOrEqual(lineBytesMax + 2 * piece.length);
    splitter.push(bytes("\n{}\n"), (line) => lines.push(line));
    expect(lines).toEqual(["too-long"]);
    expect(JSON.stringify(splitter).length).toBeLessThan(200);
  });

  test("exactly one MiB by default", () => {
    const line = "x".repeat(lineBytesMax);
    expect(split([bytes(`${line}\n`)])).toEqual([line]);
    expect(split([bytes(`${line}x\n`)])).toEqual(["too-long"]);
  });
});

test("a line that comes byte by byte is whole, however many pieces it has", () => {
  const splitter = new LineSplitter();
  const lines: string[] = [];
  const take = (line: Uint8Array | "too-long") => lines.push(new TextDecoder().decode(line as Uint8Array));
  const text = Array.from({ length: 5000 }, (_, i) => String.fromCharCode(97 + (i % 26))).join("");
  for (const byte of new TextEncoder().encode(`${text}\n`)) splitter.push(new Uint8Array([byte]), take);
  expect(lines).toEqual([text]);
});
