// Everything that must hold before a change goes in, in one command: `bun run check`. With --ci also the long runs, from the real CLIs to
// crashes. Prints a line a step, the output of what failed, and last of all the counts alone: "N passed, N failed".
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

type Step = { name: string; command: string[]; env?: Record<string, string> };
type Counts = { passed: number; failed: number };

const root = join(import.meta.dir, "..");
const inCi = process.argv.includes("--ci");
/** The project's own runtime: the one that runs this may lie where another user cannot go, in root's cache of npx say. */
const bun = join(root, "node_modules/.bin/bun");
const isRoot = process.getuid?.() === 0;
const nobody = "65534";
const stepMsMax = 13 * 60_000;
const coveredMin = 0.95;
/** The time that one test may take is for machines that do other work beside. */
const testFlags = ["--randomize", "--only-failures", "--timeout=30000"];
/** Of a failed step's output: which lines are said again at the end, and how many of them. */
const telling = /^\s*(\(fail\)|FAIL |error|Expected|Received|not within|panic)|exited with code/;
const retoldMax = 30;

/** Reads the counts that `bun test` ends with; a run that failed without a failed test (it crashed, say) counts as one. */
function testCounts(output: string, exitCode: number): Counts {
  const count = (word: string) => [...output.matchAll(new RegExp(`^\\s*(\\d+) ${word}$`, "gm"))].reduce((sum, m) => sum + Number(m[1]), 0);
  const failed = count("fail");
  return { passed: count("pass"), failed: exitCode !== 0 && failed === 0 ? 1 : failed };
}

/** What failed in a step, in a few lines: a record that keeps only the end of the output still tells it. */
function recap(step: Step, output: string): string {
  const lines = output.split("\n").filter((line) => telling.test(line));
  return [`${step.name}:`, ...lines.slice(0, retoldMax).map((line) => `    ${line.trim().slice(0, 300)}`)].join("\n");
}

async function run(step: Step): Promise<Counts> {
  const started = performance.now();
  process.stdout.write(`${step.name} … `);
  const child = Bun.spawn(step.command, {
    cwd: root,
    env: { ...process.env, NO_COLOR: "1", FORCE_COLOR: undefined, ...step.env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    timeout: stepMsMax,
  });
  const [stdout, stderr, exitCode] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  const counts = testCounts(stderr, exitCode);
  const tests = counts.passed ? `, ${counts.passed} tests` : "";
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`${exitCode === 0 ? "ok" : `FAILED (exit ${exitCode})`}, ${seconds} s${tests}`);
  const output = `${stdout}${stderr}`;
  if (exitCode !== 0) {
    console.log(output.replace(/^/gm, "    "));
    failures.push(recap(step, output));
  }
  return counts;
}

function works(command: string[]): boolean {
  return Bun.which(command[0] as string) !== null && Bun.spawnSync(command, { cwd: root }).success;
}

/**
 * The tests once more, under what users have and developers have not: no network, an ordinary user, and a home whose path has spaces and
 * non-Latin letters. What this machine cannot do is left out and said.
 */
function strangeTests(scratch: string): Step {
  const home = join(scratch, "ho me ñ 家");
  mkdirSync(home, { mode: 0o777 });
  chmodSync(scratch, 0o755);
  chmodSync(home, 0o777);
  const offline =
    [
      ["unshare", "-n"],
      ["unshare", "-rn"],
    ].find((command) => works([...command, "true"])) ?? [];
  const user = ["setpriv", `--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups"];
  const asUser = isRoot && works([...user, bun, "-e", `await Bun.file(${JSON.stringify(join(root, "package.json"))}).text()`]);
  const missing = [!offline.length && "with network: no unshare here", isRoot && !asUser && "as root: others cannot read this folder"];
  return {
    name: ["tests, strange home, no network, ordinary user", ...missing.filter((text) => text)].join("; "),
    command: [...offline, ...(asUser ? user : []), bun, "test", ...testFlags],
    env: { HOME: home, TMPDIR: home, BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0" },
  };
}

function longRuns(): Step[] {
  return ["sim", "fuzz", "crash", "e2e"].map((name) => ({ name, command: [bun, "run", name] }));
}

/** Share of the lines of `rooms` that the tests ran, from lcov text. */
function covered(lcov: string, rooms: RegExp): number {
  let found = 0;
  let hit = 0;
  for (const record of lcov.split("end_of_record")) {
    if (!rooms.test(/^SF:(.*)$/m.exec(record)?.[1] ?? "")) continue;
    found += Number(/^LF:(\d+)$/m.exec(record)?.[1] ?? 0);
    hit += Number(/^LH:(\d+)$/m.exec(record)?.[1] ?? 0);
  }
  return hit / found;
}

/** The broker and the line splitter hold people's messages: their tests must run nearly every line. */
function checkCoverage(folder: string): Counts {
  const report = join(folder, "lcov.info");
  const share = covered(existsSync(report) ? readFileSync(report, "utf8") : "", /(^|\/)src\/(broker\/|wire\.ts$)/);
  const enough = share >= coveredMin;
  console.log(
    `lines of the broker that its tests ran … ${enough ? "ok" : "FAILED"}, ${(share * 100).toFixed(1)} % (at least ${coveredMin * 100} %)`,
  );
  return { passed: 0, failed: enough ? 0 : 1 };
}

function steps(scratch: string): Step[] {
  const tool = (name: string) => join(root, "node_modules/.bin", name);
  return [
    { name: "build", command: [bun, "build.ts"] },
    { name: "types", command: [tool("tsc"), "--noEmit"] },
    { name: "lint and format", command: [tool("biome"), "check", "--error-on-warnings", "--max-diagnostics=20", "."] },
    { name: "dead code", command: [tool("knip"), "--no-progress"] },
    {
      name: "tests",
      command: [bun, "test", ...testFlags, "--coverage-reporter=lcov", `--coverage-dir=${scratch}`],
    },
    strangeTests(scratch),
    ...(inCi ? longRuns() : []),
  ];
}

const scratch = mkdtempSync(join(tmpdir(), "renn-check-"));
const failures: string[] = [];
const total: Counts = { passed: 0, failed: 0 };
const add = (counts: Counts): void => {
  total.passed += counts.passed;
  total.failed += counts.failed;
};
try {
  for (const step of steps(scratch)) {
    const counts = await run(step);
    // Machines stumble; what fails twice is a fault. That it failed once is still told at the end. e2e tries its scenarios again by itself.
    add(counts.failed && inCi && step.name !== "e2e" ? await run({ ...step, name: `${step.name}, second try` }) : counts);
  }
  add(checkCoverage(scratch));
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
if (failures.length) console.log(`\nWhat failed:\n${failures.join("\n")}\n`);
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exitCode = total.failed === 0 ? 0 : 1;
