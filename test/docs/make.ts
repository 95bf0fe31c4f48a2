// Fills the parts of the documentation that are made from the source: `bun run docs`. docs.test.ts fails while one of them is out of date.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { protocolMarkdown } from "../../src/modes/cli/protocol.ts";
import { defaultLimits, groupMembersMax, lineBytesMax } from "../../src/protocol/constants.ts";
import { errorCodes } from "../../src/protocol/errors.ts";

const root = join(import.meta.dir, "../..");

/** The parts by the name that stands in their markers. */
const parts: Record<string, () => string> = {
  protocol: () => protocolMarkdown().trim(),
  commands: commandTable,
  limits: limitTable,
  statuses: statusTable,
};

/** Files with such parts. */
export const madeFiles: readonly string[] = ["README.md", "docs/protocol.md"];

/** What a file is now. */
export const currentText = (file: string): string => readFileSync(join(root, file), "utf8");

/** What a file should be: its text with every part between `<!-- begin NAME: … -->` and `<!-- end NAME -->` made anew. Throws on a name that is no part's. */
export function freshText(file: string): string {
  return currentText(file).replace(
    /(<!-- begin (\w+):[^\n]*-->\n)[\s\S]*?(<!-- end \2 -->)/g,
    (_all, begin: string, name: string, end: string) => {
      const part = parts[name];
      if (!part) throw new Error(`${file}: there is no part ${name}`);
      return `${begin}\n${part()}\n\n${end}`;
    },
  );
}

const table = (headings: string[], rows: string[][]): string =>
  [headings, headings.map(() => "---"), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`)
    .join("\n");

/** What help prints after `renn` and these words, a section for each of its headings: its rows of two columns. */
function helpSections(words: string[]): { title: string; rows: string[][] }[] {
  const command = [process.execPath, join(root, "src/main.ts"), ...words, "--help"];
  const help = Bun.spawnSync(command, { env: { PATH: process.env.PATH, HOME: "/" } }).stdout.toString();
  const sections: { title: string; rows: string[][] }[] = [];
  for (const line of help.split("\n")) {
    const title = /^([A-Z][^:]*):$/.exec(line)?.[1];
    if (title) sections.push({ title, rows: [] });
    const rows = sections.at(-1)?.rows;
    const [, name, meaning] = /^ {2}(\S.*?) {2,}(\S.*)$/.exec(line) ?? [];
    if (name && meaning) rows?.push([name.replace(" [options]", ""), meaning]);
    // Help wraps long lines; what follows belongs to the row above.
    const more = /^ {8,}(\S.*)$/.exec(line)?.[1];
    const last = rows?.at(-1);
    if (more && last) last[1] += ` ${more}`;
  }
  return sections;
}

/** Commands that have commands of their own. */
const families: readonly string[] = ["group|groups", "broker"];

/** The commands as `renn --help` lists them, under its headings. */
function commandTable(): string {
  const rows = (commands: string[][], before = ""): string[][] =>
    commands.flatMap(([name = "", meaning = ""]) => {
      if (!families.includes(name)) return [[`\`renn ${before}${name}\``, meaning]];
      const [word = ""] = name.split("|");
      return rows(helpSections([word]).find((section) => section.title === "Commands")?.rows ?? [], `${word} `);
    });
  const groups = helpSections([]).filter(({ title }) => title !== "Options" && title !== "First steps");
  return table(
    ["Command", "What it does"],
    groups.filter((group) => group.rows.length).flatMap((group) => [[`**${group.title}**`, ""], ...rows(group.rows)]),
  );
}

/** The limits that a user meets, from the constants. */
function limitTable(): string {
  const seconds = (ms: number) => `${ms / 1000} s`;
  const l = defaultLimits;
  return table(
    ["Limit", "Value", "In `config.json`"],
    [
      ["characters of a body that are put into a session (all of it is stored)", String(l.bodyCharactersMax), "`bodyCharactersMax`"],
      ["sends and replies of one sender", `${l.sendsPerWindow} in ${seconds(l.sendWindowMs)}`, "`sendsPerWindow`, `sendWindowMs`"],
      ["the same message again is a duplicate within", seconds(l.duplicateWindowMs), "`duplicateWindowMs`"],
      ["messages in a thread", String(l.threadMessagesMax), "`threadMessagesMax`"],
      ["unread messages of a recipient", String(l.unreadMax), "`unreadMax`"],
      ["small news is gathered for", seconds(l.notificationBatchMs), "`notificationBatchMs`"],
      ["a wait, by default and at most", `${seconds(l.waitDefaultMs)}, ${seconds(l.waitMaxMs)}`, "`waitDefaultMs`, `waitMaxMs`"],
      ["characters of a first line", String(l.firstLineCharactersMax), "`firstLineCharactersMax`"],
      ["time for the proof of a hand-over", seconds(l.proofWindowMs), "`proofWindowMs`"],
      ["members of a group", String(groupMembersMax), ""],
      ["bytes of one line to the broker", lineBytesMax.toLocaleString("en"), ""],
    ],
  );
}

/** Exit statuses with the error codes that lead to them. */
function statusTable(): string {
  const codes = (exit: number) =>
    Object.entries(errorCodes)
      .filter(([, error]) => error.exit === exit)
      .map(([code]) => `\`${code}\``)
      .join(", ");
  return table(
    ["Status", "Meaning", "Error codes of the bus"],
    [
      ["0", "done", ""],
      ["1", "refused by the bus, or failed", codes(1)],
      ["2", "the command line is not what the command takes", ""],
      ["3", "the broker is not reachable", codes(3)],
      ["4", "timed out", codes(4)],
      ["5", "a sandbox keeps the command from the broker", ""],
    ],
  );
}

if (import.meta.main) for (const file of madeFiles) writeFileSync(join(root, file), freshText(file));
