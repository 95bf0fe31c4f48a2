// A line diff for people to read before they agree.

const contextLines = 2;
const cellsMax = 4_000_000;

/** The changed lines with what stands around them, each line with its sign. */
export function lineDiff(before: string, after: string): string[] {
  const a = before === "" ? [] : before.replace(/\r?\n$/, "").split(/\r?\n/);
  const b = after === "" ? [] : after.replace(/\r?\n$/, "").split(/\r?\n/);
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const middle = compare(a.slice(head, a.length - tail), b.slice(head, b.length - tail));
  const leading = a.slice(Math.max(0, head - contextLines), head).map((line) => `  ${line}`);
  const trailing = a.slice(a.length - tail, a.length - tail + contextLines).map((line) => `  ${line}`);
  return folded([...leading, ...middle, ...trailing]);
}

/** The longest common subsequence in signs; two long and different texts are shown whole. */
function compare(a: string[], b: string[]): string[] {
  const width = b.length + 1;
  if (a.length * b.length > cellsMax) return [...a.map((line) => `- ${line}`), ...b.map((line) => `+ ${line}`)];
  const lengths = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      lengths[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const out: string[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      out.push(`  ${a[i++]}`);
      j++;
    } else if (j >= b.length || (i < a.length && at(i + 1, j) >= at(i, j + 1))) out.push(`- ${a[i++]}`);
    else out.push(`+ ${b[j++]}`);
  }
  return out;
}

/** Long stretches without a change become one line. */
function folded(lines: string[]): string[] {
  const near = lines.map((_, i) => lines.slice(Math.max(0, i - contextLines), i + contextLines + 1).some((line) => !line.startsWith("  ")));
  return lines.flatMap((line, i) => (near[i] ? [line] : near[i - 1] ? ["  …"] : []));
}
