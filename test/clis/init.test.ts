// init and uninstall on configuration as people have it: nothing of theirs is touched, twice is once, and uninstall gives back the same bytes.
import { afterEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname } from "node:path";
import fc from "fast-check";
import { parse } from "jsonc-parser";
import { cliOf } from "../../src/clis/index.ts";
import { homePaths } from "../../src/home.ts";
import { contextOf, type Plan, planInstall, planRemoval } from "../../src/modes/cli/init/plan.ts";
import { carryOut, changes, readInstalled } from "../../src/modes/cli/init/store.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** A user's home with the files given, and init and uninstall for one CLI in it. */
function machine(client: string, files: Record<string, string> = {}) {
  const home = mkdtempSync(`${tmpdir()}/init ñ 家-`);
  folders.push(home);
  const paths = homePaths({ RENN_HOME: `${home}/renn` });
  const setup = cliOf(client)?.setup;
  if (!setup) throw new Error(`${client} has no setup`);
  const place = { folder: `${home}/${setup.folder.home}`, moved: false, userHome: home, program: `${home}/renn/bin/renn`, env: {} };
  const path = (name: string) => `${home}/${name}`;
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(path(name)), { recursive: true });
    writeFileSync(path(name), text);
  }
  const act = (fill: (plan: Plan) => void) => {
    const plan: Plan = { files: [], refusals: [] };
    fill(plan);
    carryOut(paths, plan, readInstalled(paths), "now");
    return { changed: plan.files.filter(changes).map((f) => f.file), refused: plan.refusals };
  };
  return {
    home,
    path,
    text: (name: string) => readFileSync(path(name), "utf8"),
    init: () => act((plan) => planInstall(plan, client, setup.edits(place), readInstalled(paths), contextOf(plan, "", place.program))),
    uninstall: () =>
      act((plan) => {
        for (const record of readInstalled(paths)) planRemoval(plan, record, contextOf({ files: [], refusals: [] }, "", place.program));
      }),
    forget: () => rmSync(`${paths.home}/installed.json`),
  };
}

const ownHook = '{"matcher":"","hooks":[{"type":"command","command":"say done"}]}';
const corpus: Record<string, string> = {
  empty: "",
  "empty object": "{}",
  "empty object with newline": "{}\n",
  "spread empty object": "{\n}\n",
  "one line": '{"model":"opus","env":{"A":"1"}}',
  "two spaces": '{\n  "model": "opus",\n  "hooks": {}\n}\n',
  "four spaces": '{\n    "permissions": {\n        "allow": ["Bash(ls:*)"]\n    }\n}\n',
  tabs: '{\n\t"model": "opus",\n\t"env": {\n\t\t"A": "1"\n\t}\n}\n',
  "no final newline": '{\n  "model": "opus"\n}',
  "windows lines": '{\r\n  "model": "opus",\r\n  "hooks": {\r\n    "Stop": []\r\n  }\r\n}\r\n',
  "byte order mark": '\ufeff{\n  "model": "opus"\n}\n',
  "comments and trailing commas": `// mine\n{\n  // the model\n  "model": "opus", // good\n  "hooks": {\n    /* ours */ "Stop": [${ownHook},], // last\n  },\n} // end\n`,
  "comment behind the last member": '{\n  "a": 1 // one\n  // two\n}\n',
  "comment only": "// nothing yet\n",
  "other people's hooks": `{\n  "hooks": {\n    "Stop": [\n      ${ownHook}\n    ],\n    "PreToolUse": [${ownHook}],\n    "SessionStart": [ ${ownHook} ]\n  }\n}\n`,
  "odd keys": '{\n  "\\u0068ooks2": {"renn": 1},\n  "a\\"b": [1,\n2],\n  "": null\n}\n',
  "strings that look like JSON": '{\n  "note": "{\\"hooks\\": [}, // no comment",\n  "url": "http://x//y"\n}\n',
};

/** Whether all of `part` stands in `whole` in order. */
function isWithin(part: string, whole: string): boolean {
  let at = 0;
  for (const unit of part) {
    at = whole.indexOf(unit, at) + 1;
    if (at === 0) return false;
  }
  return true;
}

describe("a settings file of Claude Code", () => {
  const name = ".claude/settings.json";
  for (const [what, text] of Object.entries(corpus))
    test(what, () => {
      const m = machine("claude", { [name]: text });
      expect(m.init().refused).toEqual([]);
      const once = m.text(name);
      const settings = parse(once.replace(/^\ufeff/, ""), [], { allowTrailingComma: true });
      for (const event of ["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd"])
        expect(settings.hooks[event].at(-1).hooks[0].command).toBe(`'${m.home}/renn/bin/renn' hook claude --tools`);
      expect(isWithin(text, once)).toBe(true);
      expect(m.init().changed).toEqual([]);
      expect(m.text(name)).toBe(once);
      m.uninstall();
      expect(m.text(name)).toBe(text);
      expect(existsSync(m.path(".claude.json"))).toBe(false);
    });

  test("changed elsewhere meanwhile: what is not ours stays", () => {
    for (const text of Object.values(corpus).filter((t) => t.includes('"model"'))) {
      const m = machine("claude", { [name]: text });
      m.init();
      writeFileSync(m.path(name), m.text(name).replace('"model"', '"more": [1, 2],\n  "model"'));
      m.uninstall();
      expect(m.text(name)).toBe(text.replace('"model"', '"more": [1, 2],\n  "model"'));
    }
  });

  test("rewritten by the CLI itself: our entries go, the rest stays as it was read", () => {
    for (const text of Object.values(corpus).filter((t) => t.trim() && t !== "// nothing yet\n")) {
      const before = parse(text.replace(/^\ufeff/, ""), [], { allowTrailingComma: true });
      const m = machine("claude", { [name]: text });
      m.init();
      writeFileSync(m.path(name), JSON.stringify(parse(m.text(name).replace(/^\ufeff/, ""), [], { allowTrailingComma: true })));
      m.uninstall();
      const after = JSON.parse(m.text(name));
      if (before.hooks && !after.hooks) expect(Object.values(before.hooks).flat()).toEqual([]);
      expect({ ...after, hooks: null }).toEqual({ ...before, hooks: null });
    }
  });

  test("the record lost: init still finds itself there, and another program path is put right", () => {
    const m = machine("claude", { [name]: corpus["two spaces"] as string });
    m.init();
    m.forget();
    expect(m.init().changed).toEqual([]);
    writeFileSync(m.path(name), m.text(name).replaceAll("/renn/bin/renn", "/old/bin/renn"));
    m.init();
    expect(m.text(name)).not.toContain("/old/");
    expect(JSON.parse(m.text(name)).hooks.Stop.length).toBe(1);
  });

  const broken: [string, string, string][] = [
    ["half a file", '{"hooks": {', "it is no JSON"],
    ["a list", "[]", "its root is no object"],
    ["hooks that are a list", '{"hooks": []}', "hooks is no object"],
    ["an event that is no list", '{"hooks": {"Stop": {}}}', "hooks.Stop is no list"],
    ["hooks twice", '{"hooks": {}, "hooks": {"Stop": []}}', "stands in it twice"],
    ["not UTF-8", "\u0000", ""],
  ];
  for (const [what, text, why] of broken)
    test(`refused and left alone: ${what}`, () => {
      const m = machine("claude", { [name]: text });
      if (why === "") writeFileSync(m.path(name), Buffer.from([0xff, 0xfe, 0x7b]));
      const before = readFileSync(m.path(name));
      const { refused } = m.init();
      expect(refused.length).toBe(1);
      expect(refused[0]?.why).toContain(why);
      expect(readFileSync(m.path(name)).equals(before)).toBe(true);
    });

  test("links are followed and modes kept", () => {
    const m = machine("claude", { "dotfiles/claude.json": corpus["two spaces"] as string });
    mkdirSync(m.path(".claude"));
    symlinkSync("../dotfiles/claude.json", m.path(name));
    chmodSync(m.path("dotfiles/claude.json"), 0o640);
    m.init();
    expect(lstatSync(m.path(name)).isSymbolicLink()).toBe(true);
    expect(realpathSync(m.path(name))).toBe(realpathSync(m.path("dotfiles/claude.json")));
    expect(statSync(m.path(name)).mode & 0o777).toBe(0o640);
    m.uninstall();
    expect(m.text("dotfiles/claude.json")).toBe(corpus["two spaces"] as string);
  });

  test("files and folders that init made go again", () => {
    for (const client of ["claude", "codex", "gemini", "zcode", "opencode", "hummin"]) {
      const m = machine(client);
      expect(m.init().changed.length).toBeGreaterThan(0);
      m.uninstall();
      const left = [...new Bun.Glob("**/*").scanSync({ cwd: m.home, dot: true, onlyFiles: false })].filter((f) => !f.startsWith("renn"));
      expect(left).toEqual([]);
    }
  });
});

test("any JSON in any style comes back byte for byte", () => {
  const key = fc.constantFrom("hooks", "Stop", "SessionStart", "model", "a", "", "x y");
  const space = fc.constantFrom("", " ", "\n", "\n  ", "\n\t", " /* c */ ", " // c\n");
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 3 }, fc.constantFrom("1", '"s"', "null", '"{"', '"// x"'), tie("list"), tie("object")),
    list: fc
      .tuple(fc.array(tie("value"), { maxLength: 3 }), space, fc.boolean())
      .map(([items, s, comma]) => `[${s}${items.join(`,${s}`)}${comma && items.length ? "," : ""}${s}]`),
    object: fc
      .tuple(fc.uniqueArray(fc.tuple(key, tie("value")), { maxLength: 4, selector: ([k]) => k }), space, fc.boolean())
      .map(
        ([members, s, comma]) =>
          `{${s}${members.map(([k, v]) => `${JSON.stringify(k)}:${v}`).join(`,${s}`)}${comma && members.length ? "," : ""}${s}}`,
      ),
  }));
  fc.assert(
    fc.property(value as fc.Arbitrary<string>, fc.constantFrom("", "\n", "\r\n", " // end"), (json, end) => {
      const text = json + end;
      const m = machine("claude", { ".claude/settings.json": text });
      const { refused } = m.init();
      const after = m.text(".claude/settings.json");
      if (refused.some((r) => r.file.endsWith("settings.json"))) expect(after).toBe(text);
      else {
        expect(parse(after).hooks.Stop.at(-1).hooks.length).toBe(2);
        expect(isWithin(text, after)).toBe(true);
      }
      m.uninstall();
      expect(m.text(".claude/settings.json")).toBe(text);
    }),
    { numRuns: 50 },
  );
});

describe("Codex's config.toml", () => {
  const tomls: Record<string, string> = {
    empty: "",
    "no final newline": 'model = "x"',
    "tables and comments":
      '# mine\nmodel = "x" # y\n\n[features]\na = true\n\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "say"\n',
    "windows lines": '[mcp_servers.other]\r\ncommand = "x"\r\nargs = []\r\n',
    "strings with headers": 'a = """\n[mcp_servers.renn]\n"""\nlist = [\n  ["x"],\n]\n',
    "trust of others": '[hooks.state."/x/hooks.json:stop:0:0"]\ntrusted_hash = "sha256:1"\n',
    "a dotted key": "mcp_servers.other.command = 'x'\n",
  };
  for (const [what, text] of Object.entries(tomls))
    test(what, () => {
      const m = machine("codex", { ".codex/config.toml": text });
      expect(m.init().refused).toEqual([]);
      const once = m.text(".codex/config.toml");
      const config = Bun.TOML.parse(once) as { mcp_servers: Record<string, object>; hooks: { state: Record<string, object> } };
      expect(config.mcp_servers.renn).toEqual({
        command: `${m.home}/renn/bin/renn`,
        args: ["mcp"],
        default_tools_approval_mode: "approve",
      });
      const trusted = Object.keys(config.hooks.state).filter((k) => k.startsWith(m.home));
      const events = ["post_tool_use", "session_end", "session_start", "stop", "user_prompt_submit"];
      expect(trusted.sort()).toEqual(events.map((event) => `${m.home}/.codex/hooks.json:${event}:0:0`));
      expect(once.startsWith(text)).toBe(true);
      expect(m.init().changed).toEqual([]);
      m.uninstall();
      expect(m.text(".codex/config.toml")).toBe(text);
    });

  test("behind other people's hooks our trust entries name the place", () => {
    const m = machine("codex", { ".codex/hooks.json": `{"hooks":{"Stop":[${ownHook},${ownHook}]}}` });
    m.init();
    expect(m.text(".codex/config.toml")).toContain('hooks.json:stop:2:0"');
  });

  test("written on by Codex meanwhile: what is not ours stays", () => {
    const m = machine("codex", { ".codex/config.toml": 'model = "x"\n' });
    m.init();
    writeFileSync(
      m.path(".codex/config.toml"),
      `${m.text(".codex/config.toml").replace('"x"', '"long name"')}\n[projects."/w"]\ntrust_level = "trusted"\n`,
    );
    m.uninstall();
    expect(m.text(".codex/config.toml")).toBe('model = "long name"\n\n[projects."/w"]\ntrust_level = "trusted"\n');
  });

  test("refused and left alone: no TOML, and servers written in one line", () => {
    for (const text of ["model = \n", 'mcp_servers = { other = { command = "x" } }\n']) {
      const m = machine("codex", { ".codex/config.toml": text });
      expect(m.init().refused.map((r) => r.file)).toEqual([realpathSync(m.path(".codex/config.toml"))]);
      expect(m.text(".codex/config.toml")).toBe(text);
    }
  });
});

test("a file of somebody else's where our plugin would go is refused", () => {
  const m = machine("opencode", { ".config/opencode/plugins/renn.js": "export const Mine = () => {};\n" });
  expect(m.init().refused.length).toBe(1);
  m.uninstall();
  expect(m.text(".config/opencode/plugins/renn.js")).toBe("export const Mine = () => {};\n");
});
