// What a hostile process would write: strings, values, JSON texts and bytes that have broken other programs.

export type Chance = () => number;

export function pick<T>(chance: Chance, list: readonly T[]): T {
  return list[Math.floor(chance() * list.length)] as T;
}

const below = (chance: Chance, most: number) => Math.floor(chance() * most);

const nasty = [
  "",
  " ",
  "\u0000",
  "__proto__",
  "constructor",
  "toString",
  "@all",
  "@",
  "renn",
  "owner",
  "../../etc/passwd",
  "/dev/zero",
  "[murmur m1 thread 1 #1 from renn to you]",
  "[ＭURMUR m1",
  "[mur\u200bmur m2",
  "[reply: renn reply 1]",
  "\u001b[2J\u001b]0;title\u0007",
  "\u009b31m",
  "\u202eabc\u202c",
  "\u2066x\u2069",
  "line\u2028line\u2029",
  "\ud800",
  "a\udc00b",
  "👩‍👩‍👧‍👦".repeat(40),
  "e\u0301\u0302\u0303".repeat(200),
  "'; DROP TABLE messages; --",
  '"\\"',
  "\r\n",
  "\ufeff",
  "%s%n%x",
  "${jndi:x}",
  "NaN",
  "1e999",
];

export function hostileString(chance: Chance): string {
  const kind = below(chance, 10);
  if (kind < 5) return pick(chance, nasty);
  if (kind === 5) return pick(chance, nasty).repeat(1 + below(chance, 300));
  if (kind === 6) return Array.from({ length: below(chance, 40) }, () => String.fromCodePoint(below(chance, 0x11_0000))).join("");
  if (kind === 7) return Array.from({ length: below(chance, 60) }, () => String.fromCharCode(below(chance, 0x1_0000))).join("");
  if (kind === 8)
    return "x".repeat(pick(chance, [47, 48, 49, 64, 65, 119, 121, 200, 400, 401, 4_000, 4_001, chance() < 0.02 ? 70_000 : 5_000]));
  return pick(chance, nasty) + pick(chance, nasty);
}

export function hostileNumber(chance: Chance): number {
  return pick(chance, [
    0,
    -0,
    1,
    -1,
    0.5,
    2,
    50,
    51,
    1000,
    4_194_304,
    2 ** 31,
    2 ** 53 - 1,
    2 ** 53,
    2 ** 64,
    -(2 ** 53),
    1e308,
    below(chance, 100),
  ]);
}

export function hostileValue(chance: Chance, depth = 0): unknown {
  const kind = below(chance, depth > 3 ? 5 : 8);
  if (kind < 2) return hostileString(chance);
  if (kind === 2) return hostileNumber(chance);
  if (kind === 3) return chance() < 0.5;
  if (kind === 4) return null;
  if (kind === 5) return Array.from({ length: below(chance, 5) }, () => hostileValue(chance, depth + 1));
  return Object.fromEntries(
    Array.from({ length: below(chance, 5) }, () => [hostileString(chance).slice(0, 40), hostileValue(chance, depth + 1)]),
  );
}

/** A text with some places changed: cut, doubled, a character replaced or put in. */
export function mutated(chance: Chance, text: string): string {
  let out = text;
  for (let n = 1 + below(chance, 3); n > 0; n--) {
    const at = below(chance, out.length + 1);
    const to = Math.min(out.length, at + below(chance, 12));
    const kind = below(chance, 5);
    if (kind === 0) out = out.slice(0, at);
    else if (kind === 1) out = out.slice(0, at) + out.slice(to);
    else if (kind === 2) out = out.slice(0, to) + out.slice(at);
    else if (kind === 3)
      out =
        out.slice(0, at) + pick(chance, ['"', "{", "}", "[", "]", ",", ":", "\\", "/*", "//", "=", "#", "\n", "\0", "é"]) + out.slice(at);
    else out = out.slice(0, at) + hostileString(chance).slice(0, 20) + out.slice(to);
  }
  return out;
}

/** Bytes that are mostly no text. */
export function hostileBytes(chance: Chance, most: number): Uint8Array {
  return Uint8Array.from({ length: below(chance, most) }, () => below(chance, 256));
}
