// Which process above a hook is the session's: never one that holds the windows or logins of many.
import { describe, expect, test } from "bun:test";
import type { Ancestor } from "../../src/clis/cli.ts";
import { cliOf, clis } from "../../src/clis/index.ts";

type Level = string | [name: string, more: Partial<Ancestor>];

/** The chain above a hook, nearest first, all in one terminal and each in a process group of its own; pids count from 100. */
function chain(...levels: Level[]): Ancestor[] {
  return levels.map((level, i) => {
    const [name, more] = typeof level === "string" ? [level, {}] : level;
    return { pid: 100 + i, start: "1", name, group: 100 + i, tty: 34816, ...more };
  });
}

const hostOf = (client: string, levels: Level[], pid?: number) => {
  const found = cliOf(client)?.hook.host(chain(...levels), {}, pid);
  return found && found.pid - 100;
};

const holders = [
  ["tmux: server", "screen", "SCREEN", "zellij", "sshd", "sshd-session", "login", "mosh-server", "dropbear", "script"],
  ["gnome-terminal-", "konsole", "xterm", "alacritty", "kitty", "wezterm-gui", "foot", "ghostty", "iTerm2", "Terminal", "ptyxis-agent"],
  ["systemd", "init", "launchd", "cron", "crond", "atd", "tini", "containerd-shim", "Relay(12)", "SessionLeader"],
].flat();

describe("the session of any other program is", () => {
  const cases: [what: string, levels: Level[], host: number | undefined][] = [
    ["the program that ran the hook", ["agent", "bash", "tmux: server"], 0],
    ["the program behind a shell", ["sh", "agent", "bash", "tmux: server"], 1],
    ["the program behind wrappers", ["env", "timeout", "bash", "node", "-zsh", "sshd"], 3],
    ["the shell that a person typed in", ["bash", "tmux: server", "systemd"], 0],
    ["that shell, behind a wrapper", ["env", "-bash", "sshd"], 1],
    ["a script that is an agent itself", ["bash", "zsh", "xterm"], 0],
    ["the script, not the subshell that captures what the hook says", [["bash", { group: 101 }], "bash", "zsh", "xterm"], 1],
    ["the outermost shell where none leads its group", [["sh", { group: 7 }], ["bash", { group: 7 }], "cron"], 1],
    ["the shell in the terminal of an editor", ["bash", ["node", { tty: 0 }], ["node", { tty: 0 }]], 0],
    ["the program that gave its hook no terminal", [["sh", { tty: 0 }], "agent", "bash", "tmux: server"], 1],
    ["a shell with nothing above it", ["sh"], 0],
    ["nothing, where only a multiplexer ran the hook", [["tmux: server", { tty: 0 }]], undefined],
  ];
  for (const [what, levels, host] of cases) test(what, () => expect(hostOf("other", levels)).toBe(host));

  test("the process that it names, though a nearer one could be it", () => {
    const levels = ["bash", "node", "agent", "tmux: server"];
    expect([hostOf("other", levels, 102), hostOf("other", levels, 103), hostOf("other", levels, 999)]).toEqual([2, undefined, undefined]);
  });
});

test("no CLI's session is what holds windows, logins or services", () => {
  const taken = clis.flatMap(({ client, hook }) =>
    holders
      .filter((name) => hook.host(chain("bash", [name, { tty: 0 }], "systemd"), {})?.name === name)
      .map((name) => `${client}: ${name}`),
  );
  expect(taken).toEqual([]);
  for (const client of ["claude", "codex", "gemini", "zcode"]) expect(hostOf(client, ["bash", "tmux: server"])).toBeUndefined();
});
