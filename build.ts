// Makes the program: one executable a platform, with nothing read from the folder it is started in.
//   bun build.ts          dist/renn for this machine
//   bun build.ts --all    dist/renn-<os>-<cpu>[-musl] for every platform we release, and dist/SHA256SUMS
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

const root = import.meta.dir;
const dist = join(root, "dist");

const releases: { target: Bun.Build.CompileTarget; name: string }[] = [
  { target: "bun-linux-x64", name: "renn-linux-x64" },
  { target: "bun-linux-arm64", name: "renn-linux-arm64" },
  { target: "bun-linux-x64-musl", name: "renn-linux-x64-musl" },
  { target: "bun-linux-arm64-musl", name: "renn-linux-arm64-musl" },
  { target: "bun-darwin-x64", name: "renn-darwin-x64" },
  { target: "bun-darwin-arm64", name: "renn-darwin-arm64" },
];

function version(): string {
  const manifest: { version: string } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return manifest.version;
}

const hookMode = join(root, "src/modes/hook.ts");
const mark = "?hook";

/**
 * Gives hook mode modules of its own, so that all it loads is one chunk: those that it shares with other modes would be chunks of their own, and each
 * would cost it a tenth of a millisecond. What it imports lazily is shared.
 */
const hookAlone: Bun.BunPlugin = {
  name: "hook-alone",
  setup(build) {
    build.onResolve({ filter: /^\.\.?\// }, ({ path, importer, kind }) => {
      const file = resolve(dirname(importer), path);
      const own = importer.endsWith(mark);
      if (kind === "import-statement" && (own || file === hookMode)) return { path: file + mark, namespace: "hook" };
      return own ? { path: file } : undefined;
    });
    build.onLoad({ filter: /\?hook$/, namespace: "hook" }, async ({ path }) => {
      const file = path.slice(0, -mark.length);
      return { contents: await Bun.file(file).text(), loader: file.endsWith(".json") ? "json" : "ts" };
    });
  },
};

/** What the command library imports of Node at the cost of 6 of a command's 30 ms: a function that Bun has too, and child processes, which no command of ours is. */
const dearImports: [from: string, instead: string][] = [
  ["import { stripVTControlCharacters } from 'node:util';", "const stripVTControlCharacters = Bun.stripANSI;"],
  ["import childProcess from 'node:child_process';", "const childProcess = {};"],
];

/** Gives the command library these instead; the rest of its code stays as it is. */
const lightCommander: Bun.BunPlugin = {
  name: "light-commander",
  setup(build) {
    build.onLoad({ filter: /node_modules\/commander\/lib\/(command|help)\.js$/ }, async ({ path }) => {
      const text = await Bun.file(path).text();
      return { contents: dearImports.reduce((code, [from, instead]) => code.replace(from, instead), text), loader: "js" };
    });
  },
};

/**
 * Compiles `entry` to the executable `outfile`. It is written beside and then renamed: a broker that runs from the old file keeps it, and
 * nobody starts half a file. Bytecode needs ESM here, since only ESM splits, and only splitting keeps SQLite out of hook mode.
 * Throws an AggregateError of build messages.
 */
export async function compile(entry: string, outfile: string, target?: Bun.Build.CompileTarget): Promise<void> {
  const unfinished = `${outfile}.${process.pid}`;
  await Bun.build({
    entrypoints: [entry],
    target: "bun",
    format: "esm",
    splitting: true,
    minify: true,
    bytecode: true,
    plugins: [hookAlone, lightCommander],
    define: { RENN_VERSION: JSON.stringify(version()) },
    compile: {
      ...(target && { target }),
      outfile: unfinished,
      autoloadDotenv: false,
      autoloadBunfig: false,
      autoloadTsconfig: false,
      autoloadPackageJson: false,
    },
  });
  renameSync(unfinished, outfile);
}

async function release(): Promise<void> {
  const sums: string[] = [];
  for (const { target, name } of releases) {
    const file = join(dist, name);
    await compile(join(root, "src/main.ts"), file, target);
    const sum = new Bun.CryptoHasher("sha256").update(await Bun.file(file).bytes()).digest("hex");
    sums.push(`${sum}  ${basename(file)}\n`);
    console.log(`dist/${name}`);
  }
  writeFileSync(join(dist, "SHA256SUMS"), sums.join(""));
}

if (import.meta.main) {
  mkdirSync(dist, { recursive: true });
  if (process.argv.includes("--all")) await release();
  else await compile(join(root, "src/main.ts"), join(dist, "renn"));
}
