// Does the simulation find what is wrong? `bun test/sim/plant.ts [--seeds 1000]` plants one fault after the other in a copy of the sources, as a slip of
// the pen would, and shows after how many seeds the simulation says so. A fault that it does not find ends it with status 1.
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

type Fault = { what: string; file: string; find: string; replace: string };

const faults: readonly Fault[] = [
  {
    what: "a closed connection keeps what it did not confirm",
    file: "identity.ts",
    find: 'for (const other of takeBackAll(bus, conn.handouts, "closed")) pump(bus, other);',
    replace: "",
  },
  { what: "what comes back is forgotten by the pump", file: "delivery.ts", find: 'set(bus, peer, "mayHaveQueued", true);', replace: "" },
  {
    what: "the unread counter is not taken back",
    file: "delivery.ts",
    find: 'set(bus, peer, "unread", peer.unread + change)',
    replace: "peer.unread += change",
  },
  { what: "a confirmed hand-over stays open", file: "delivery.ts", find: "if (handout) closeHandout(bus, handout, outcome);", replace: "" },
  {
    what: "a proof window never ends",
    file: "proof.ts",
    find: "if (handout.deadline <= bus.mono && !expire(bus, handout)) continue;",
    replace: "",
  },
  {
    what: "a restart leaves pushes of closed connections as sent",
    file: "load.ts",
    find: "bus.store.requeue(row.message_id, row.peer_id, bus.now, false);",
    replace: "",
  },
  { what: "a restart forgets the windows", file: "load.ts", find: "  loadWindows(bus);", replace: "" },
  {
    what: "a group brings its own sender",
    file: "handlers/recipients.ts",
    find: "if (peer !== sender && peer !== via) all",
    replace: "if (peer !== via) all",
  },
  {
    what: "a reply wakes everybody",
    file: "handlers/send.ts",
    find: "if (bus.repliesToAll) return",
    replace: "if (!bus.repliesToAll) return",
  },
  { what: "a mute holds nobody back", file: "handlers/send.ts", find: 'until > bus.now ? "silent" : mode', replace: "mode" },
  {
    what: "the inbox holds one more than its cap",
    file: "handlers/send.ts",
    find: ">= bus.limits.unreadMax)",
    replace: "> bus.limits.unreadMax)",
  },
  {
    what: "a key with the same content is stored again",
    file: "handlers/send.ts",
    find: "if (row.idem_hash === hash) return row;",
    replace: "return null;",
  },
  {
    what: "the rate lets one more through",
    file: "windows.ts",
    find: "times.length < bus.limits.sendsPerWindow",
    replace: "times.length <= bus.limits.sendsPerWindow",
  },
  {
    what: "the newest message goes first",
    file: "store/statements.ts",
    find: "ORDER BY d.message_id LIMIT ?`",
    replace: "ORDER BY d.message_id DESC LIMIT ?`",
  },
  { what: "answers of a failed turn leave", file: "broker.ts", find: "bus.out.length = 0;", replace: "" },
  {
    what: "only the last change of memory is taken back",
    file: "steps.ts",
    find: "while (steps.length) takeBackLast",
    replace: "takeBackLast",
  },
  { what: "what a map had is not put back", file: "steps.ts", find: ".set(key, old);", replace: ".delete(key);" },
  {
    what: "threads of a failed turn are written by the next",
    file: "store/store.ts",
    find: "  rollback(): void {\n    this.grown.clear();",
    replace: "  rollback(): void {",
  },
  { what: "threads of a failed turn are remembered", file: "broker.ts", find: "bus.threads.clear();", replace: "" },
  {
    what: "a wait outlives its time",
    file: "waits.ts",
    find: "if (wait.deadline <= bus.mono) endWait",
    replace: "if (wait.deadline <= bus.mono - 1e9) endWait",
  },
];

const root = join(import.meta.dir, "../..");
const at = process.argv.indexOf("--seeds");
const seeds = at < 0 ? "1000" : (process.argv[at + 1] ?? "1000");

/** What the simulation says of sources with this fault: the line that names seed and violation, or null when it finds nothing. */
function search(folder: string, fault: Fault): string | null {
  const path = join(folder, "src/broker", fault.file);
  const text = readFileSync(path, "utf8");
  if (text.split(fault.find).length !== 2) throw new Error(`${fault.what}: ${fault.file} does not hold this once: ${fault.find}`);
  writeFileSync(
    path,
    text.replace(fault.find, () => fault.replace),
  );
  try {
    const run = Bun.spawnSync([process.execPath, "test/sim/run.ts", "--seeds", seeds, "--first"], { cwd: folder });
    return /^seed .*/m.exec(run.stdout.toString())?.[0] ?? null;
  } finally {
    writeFileSync(path, text);
  }
}

const folder = mkdtempSync(`${tmpdir()}/renn-plant-`);
let found = 0;
try {
  for (const name of ["src", "test", "package.json"]) cpSync(join(root, name), join(folder, name), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  for (const fault of faults) {
    const line = search(folder, fault);
    if (line) found++;
    console.log(`${fault.what}: ${line ?? "NOT FOUND"}`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(`${faults.length} faults planted, ${found} found`);
process.exitCode = found === faults.length ? 0 : 1;
