// What needs no broker: columns, times, completion scripts, the protocol's tables.
import { expect, test } from "bun:test";
import { protocolJsonSchema, protocolMarkdown } from "../../src/modes/cli/protocol.ts";
import { ago, durationMs, fitColumns, table } from "../../src/modes/cli/style.ts";
import { errorCodes } from "../../src/protocol/errors.ts";
import { requests } from "../../src/protocol/schemas.ts";
import { rennCommand } from "../binary.ts";

test("text is cut by what it takes on the screen, wide characters as two", () => {
  expect(fitColumns("plain text", 20)).toBe("plain text");
  expect(fitColumns("plain text", 6)).toBe("plain…");
  expect(fitColumns("漢字かな", 8)).toBe("漢字かな");
  expect(fitColumns("漢字かな", 6)).toBe("漢字…");
  expect(Bun.stringWidth(fitColumns("👩‍👩‍👧‍👦 family 👩‍👩‍👧‍👦", 9))).toBeLessThanOrEqual(9);
});

test("columns line up, also under wide characters, and empty ones are left out", () => {
  const lines = table(
    ["name", "none", "state"],
    [
      ["漢字", "", "queued"],
      ["plain", "", "sent"],
    ],
  ).split("\n");
  expect(lines).toEqual(["name   state", "漢字   queued", "plain  sent"]);
});

test("durations", () => {
  const cases: [string, number | null][] = [
    ["90s", 90_000],
    ["2h", 7_200_000],
    ["500ms", 500],
    ["5m", 300_000],
    ["1d", 86_400_000],
    ["7", 7_000],
    ["0", 0],
    ["soon", null],
    ["-5s", null],
    ["", null],
  ];
  for (const [text, ms] of cases) expect([text, durationMs(text)]).toEqual([text, ms]);
});

test("a time that a jumped clock puts into the future is now", () => {
  expect(ago(Date.now() + 3_600_000)).toBe("now");
  expect(ago(Date.now() - 180_000)).toBe("3 min ago");
});

test("the protocol's tables name every request, field and error code, and mark what is renn's own", () => {
  const markdown = protocolMarkdown();
  for (const type of Object.keys(requests)) expect(markdown).toContain(`### ${type}\n`);
  for (const code of Object.keys(errorCodes)) expect(markdown).toContain(`| \`${code}\` |`);
  expect(markdown).toMatch(/\| `key\?` \| string \| idempotency key.*\*\(addition\)\*/);
  const schema = protocolJsonSchema() as { requests: Record<string, { fields: { required?: string[] } }> };
  expect(schema.requests.send?.fields.required).toEqual(["threadId", "to", "body"]);
});

const completion = (shell: string) => Bun.spawnSync([...rennCommand(), "completion", shell]).stdout.toString();
const offered: [string[], string[]][] = [
  [["renn", "gro"], ["group"]],
  [["renn", "group", "cre"], ["create"]],
  [["renn", "send", "--ti"], ["--timeout"]],
  [["renn", "completion", "z"], ["zsh"]],
];

test("the completion of bash offers commands, subcommands, words and options", () => {
  const script = completion("bash");
  for (const [words, offers] of offered) {
    const set = `COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length - 1}; _renn; echo "\${COMPREPLY[@]}"`;
    const ran = Bun.spawnSync(["bash", "-c", `${script}\n${set}`]);
    expect([words, ran.stdout.toString().trim().split(" ")]).toEqual([words, offers]);
  }
}, 10_000);

test("zsh gets the same through its bridge", () => {
  const script = completion("zsh");
  expect(script).toEndWith(completion("bash"));
  expect(script).toMatch(/^bashcompinit$/m);
  if (Bun.which("zsh")) expect(Bun.spawnSync(["zsh", "-n"], { stdin: Buffer.from(script) }).exitCode).toBe(0);
}, 10_000);

test("the completion of fish offers the same, each with what it does", () => {
  const script = completion("fish");
  expect(script).toContain("complete -c renn -n '__fish_use_subcommand' -a group -d 'make, list and change groups'\n");
  expect(script).toContain("complete -c renn -n '__fish_seen_subcommand_from completion' -a zsh\n");
  const fish = Bun.which("fish");
  for (const [words, offers] of fish ? offered : []) {
    const ran = Bun.spawnSync([fish as string, "--no-config", "-c", `${script}\ncomplete -C '${words.join(" ")}'`]);
    const found = ran.stdout.toString().trimEnd().split("\n");
    expect([words, found.map((line) => line.split("\t")[0])]).toEqual([words, offers]);
  }
}, 10_000);

test("help stands on standard output and names the exit statuses; every command has one", () => {
  const help = Bun.spawnSync([...rennCommand(), "--help"]);
  expect(help.exitCode).toBe(0);
  expect(help.stdout.toString().replaceAll("\n", " ")).toContain(
    "Exit status: 0 done, 1 refused by the bus, 2 usage, 3 broker not reachable, 4 timed out, 5 a sandbox",
  );
  for (const line of help.stdout.toString().split("\n")) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(80);
  const names = [...help.stdout.toString().matchAll(/^ {2}([a-z]+)(?:\|[a-z]+)? /gm)].map((match) => match[1]);
  for (const name of [
    "send",
    "reply",
    "inbox",
    "read",
    "thread",
    "collect",
    "wait",
    "ack",
    "group",
    "status",
    "prune",
    "search",
    "export",
    "watch",
    "name",
    "whoami",
    "cancel",
    "mute",
    "token",
    "completion",
    "protocol",
    "version",
    "why",
    "doctor",
    "backup",
    "restore",
    "demo",
    "broker",
  ])
    expect(names).toContain(name);
}, 10_000);

test("the help of a command shows what every command takes, and how it is used", () => {
  const help = Bun.spawnSync([...rennCommand(), "send", "--help"]).stdout.toString();
  for (const said of ["--as <handle>", "--json", "--wait [until]", 'renn send web api "Ship today?" --wait']) expect(help).toContain(said);
  expect(help).not.toContain("--version");
  const wrong = Bun.spawnSync([...rennCommand(), "send", "api", "-x marks the spot"]);
  expect([wrong.exitCode, wrong.stderr.toString()]).toEqual([2, expect.stringMatching(/^renn: .*put -- before a body.*\n$/)]);
}, 10_000);
