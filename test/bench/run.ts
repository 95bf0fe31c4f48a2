// `bun run bench`: measures everything, prints one table, and writes docs/performance.md. With --quick less often and without the file, to see
// whether a change helps; with names (commands, sends, pushes, waits, growth, idle) only those.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { commandRows } from "./commands.ts";
import { growthRows } from "./growth.ts";
import { idleRows } from "./idle.ts";
import { buildAll, Scratch } from "./programs.ts";
import { pushRows, waitRows } from "./pushes.ts";
import { sendRows } from "./sends.ts";
import { machine, markdownTable, plainTable, type Row } from "./table.ts";

const page = join(import.meta.dir, "../../docs/performance.md");
const quick = process.argv.includes("--quick");
const only = process.argv.slice(2).filter((word) => !word.startsWith("--"));
const wanted = (name: string): boolean => only.length === 0 || only.includes(name);

async function measureAll(scratch: Scratch): Promise<Row[]> {
  const built = await buildAll(scratch);
  const rows: Row[] = [];
  const add = (found: Row[]): void => {
    rows.push(...found);
    console.log(`${plainTable(found)}\n`);
  };
  if (wanted("commands")) add(await commandRows(scratch, built, quick ? 30 : 150));
  if (wanted("sends") || wanted("pushes")) {
    const sends = await sendRows(scratch, built, quick ? 2 : 7);
    if (wanted("sends")) add(sends.rows);
    if (wanted("pushes")) add(await pushRows(scratch, sends.durableSendMs, quick ? 2 : 8));
  }
  if (wanted("waits")) add(await waitRows(scratch));
  if (wanted("idle") || wanted("growth")) {
    const idle = await idleRows(scratch, wanted("idle") && !quick ? 60 : 5);
    if (wanted("idle")) add(idle.rows);
    if (wanted("growth")) add(await growthRows(scratch, quick ? 2 : 7, idle.idleMib));
  }
  return rows;
}

function document(rows: Row[]): string {
  const missed = rows.filter((row) => !row.met).length;
  return `# Performance

Written by \`bun run bench\`; do not edit. ${new Date().toISOString().slice(0, 10)}, Bun ${Bun.version}, ${machine()}.

Every figure stands beside a floor that was measured in the same run, in turns with it, since machines differ: an empty compiled program; a
loop that parses a line and puts the rows of one send into the same tables in one FULL-synchronous transaction per turn of the event loop
(\`test/bench/floor.ts\`); redis, where it is installed, over a Unix socket with \`appendfsync always\`. Figures are medians of rounds unless
they say p95 or p99. ${rows.length - missed} of ${rows.length} goals are met.

${markdownTable(rows)}
`;
}

const scratch = new Scratch();
try {
  const rows = await measureAll(scratch);
  console.log(plainTable(rows));
  if (!quick && only.length === 0) writeFileSync(page, document(rows));
} finally {
  await scratch.dispose();
}
process.exit(0);
