// `bun run bench`: measures everything twice, prints its tables, and writes docs/performance.md. With --quick once, less often and without the
// file, to see whether a change helps; with names (commands, sends, pushes, waits, growth, idle) only those.
import { readFileSync, writeFileSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
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
  if (wanted("commands")) add(await commandRows(scratch, built, quick ? 30 : 100));
  if (wanted("sends")) add(await sendRows(scratch, built, quick ? 2 : 7));
  if (wanted("pushes")) add(await pushRows(scratch, built, quick ? 2 : 8));
  if (wanted("waits")) add(await waitRows(scratch));
  if (wanted("idle") || wanted("growth")) {
    const idle = await idleRows(scratch, built, wanted("idle") && !quick ? 60 : 5);
    if (wanted("idle")) add(idle.rows);
    if (wanted("growth")) add(await growthRows(scratch, quick ? 2 : 7, idle.idleMib));
  }
  return rows;
}

type Run = { rows: Row[]; load: [number, number] };

/** Said where it was not quiet: with more to run than cores, the ratios of short processes are those of the scheduler. */
function busyWarning(runs: Run[]): string {
  if (!runs.some(({ load }) => Math.max(...load) > availableParallelism())) return "";
  return "\n**The machine was busy with other work during these runs: wall times, and most of all those of whole processes, are worse than on a quiet one.**\n";
}

function document(runs: Run[]): string {
  const tables = runs.map(({ rows, load }, at) => {
    const goals = rows.filter((row) => row.met !== null);
    const met = goals.filter((row) => row.met).length;
    return `## Run ${at + 1}\n\n${met} of ${goals.length} goals are met. Load average before and after: ${load.map((value) => value.toFixed(1)).join(", ")}.\n\n${markdownTable(rows)}\n`;
  });
  return `# Performance

Written by \`bun run bench\` (\`test/bench\`); do not edit. ${new Date().toISOString().slice(0, 10)}, Bun ${Bun.version}, ${machine()}.

Every figure stands beside a floor that was measured in the same run, in turns with it, since machines differ: an empty compiled program; a
loop that parses a line and puts the rows of one send into the same tables in one FULL-synchronous transaction per turn of the event loop
(\`test/bench/floor.ts\`); redis, where it is installed, over a Unix socket with \`appendfsync always\`. Figures are medians of rounds unless
they say p95 or p99; ratios of sends are medians of the rounds' own ratios.
${busyWarning(runs)}
${tables.join("\n")}
${readFileSync(join(import.meta.dir, "notes.md"), "utf8")}`;
}

const loadNow = (): number => loadavg()[0] ?? 0;

const scratch = new Scratch();
try {
  const full = !quick && only.length === 0;
  const runs: Run[] = [];
  for (let run = 0; run < (full ? 2 : 1); run++) {
    const before = loadNow();
    const rows = await measureAll(scratch);
    runs.push({ rows, load: [before, loadNow()] });
    if (full) writeFileSync(page, document(runs));
  }
} finally {
  await scratch.dispose();
}
process.exit(0);
