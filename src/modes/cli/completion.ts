// completion: scripts for bash, zsh and fish, made from the commands as they are registered.
import type { Command, Option } from "commander";
import { UsageError, write } from "./output.ts";

/** Adds `completion`. */
export function registerCompletion(program: Command): void {
  program
    .command("completion")
    .summary("print a completion script for your shell")
    .description(
      'Prints a completion script. bash: eval "$(renn completion bash)" in ~/.bashrc; zsh: the same in ~/.zshrc; fish: renn completion fish | source',
    )
    .argument("<shell>", "bash, zsh or fish")
    .action(async (shell: string) => {
      const make = { bash, zsh, fish }[shell as "bash"];
      if (!make || !["bash", "zsh", "fish"].includes(shell))
        throw new UsageError(`the shell must be bash, zsh or fish, and is ${JSON.stringify(shell)}`);
      await write(make(commandsOf(program)));
    });
}

/** A command by its words (`group create`), with what may follow. */
type Entry = { words: string; summary: string; commands: string[]; options: { flag: string; text: string }[] };

function commandsOf(program: Command): Entry[] {
  const common = flags(program.options);
  const entry = (command: Command, words: string): Entry => ({
    words,
    summary: command.summary() || command.description(),
    commands: command.commands.map((child) => child.name()),
    options: [...flags(command.options), ...common],
  });
  const below = (command: Command, words: string): Entry[] => [
    entry(command, words),
    ...command.commands.flatMap((child) => below(child, `${words} ${child.name()}`.trim())),
  ];
  return below(program, "");
}

const flags = (options: readonly Option[]) =>
  options.flatMap((option) => (option.long ? [{ flag: option.long, text: option.description }] : []));
const candidates = (entry: Entry) => [...entry.commands, ...entry.options.map((option) => option.flag)].join(" ");

function bash(entries: Entry[]): string {
  const cases = entries.map((entry) => `    "${entry.words}") words="${candidates(entry)}" ;;`).join("\n");
  const known = entries.flatMap((entry) => entry.words || []).join(",");
  return `# renn completion for bash
_renn() {
  local at="" words="" i known=",${known},"
  for ((i = 1; i < COMP_CWORD; i++)); do
    [[ "$known" == *",\${at:+$at }\${COMP_WORDS[i]},"* ]] && at="\${at:+$at }\${COMP_WORDS[i]}"
  done
  case "$at" in
${cases}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -F _renn renn
`;
}

function zsh(entries: Entry[]): string {
  return `# renn completion for zsh: the bash one, through zsh's own bridge
autoload -Uz compinit bashcompinit
(( \${+functions[compdef]} )) || compinit
bashcompinit
${bash(entries)}`;
}

const fishText = (text: string) => `'${text.replace(/[\\']/g, "\\$&")}'`;

function fish(entries: Entry[]): string {
  const top = entries.find((entry) => entry.words === "");
  const lines = ["# renn completion for fish", "complete -c renn -f"];
  for (const entry of entries) {
    const [first, second] = entry.words.split(" ");
    const seen = second
      ? `__fish_seen_subcommand_from ${first}; and __fish_seen_subcommand_from ${second}`
      : `__fish_seen_subcommand_from ${first}`;
    const condition = entry.words === "" ? "__fish_use_subcommand" : seen;
    for (const name of entry.commands) {
      const child = entries.find((one) => one.words === `${entry.words} ${name}`.trim());
      lines.push(`complete -c renn -n ${fishText(condition)} -a ${name} -d ${fishText(child?.summary ?? "")}`);
    }
    const own = entry.words === "" ? entry.options : entry.options.filter((option) => !top?.options.includes(option));
    const where = entry.words === "" ? "" : ` -n ${fishText(condition)}`;
    for (const { flag, text } of own) lines.push(`complete -c renn${where} -l ${flag.slice(2)} -d ${fishText(text)}`);
  }
  return `${lines.join("\n")}\n`;
}
