// completion: scripts for bash, zsh and fish, made from the commands as they are registered.
import { Argument, type Command, type Option } from "commander";
import { write } from "./output.ts";

const scripts: Record<string, (entries: Entry[]) => string> = { bash, zsh, fish };

/** Adds `completion`. */
export function registerCompletion(program: Command): void {
  program
    .command("completion")
    .summary("print a completion script for your shell")
    .description(
      'Prints a completion script. bash: eval "$(renn completion bash)" in ~/.bashrc; zsh: the same in ~/.zshrc; fish: renn completion fish | source',
    )
    .addArgument(new Argument("<shell>").choices(Object.keys(scripts)))
    .action(async (shell: string) => write(scripts[shell]?.(commandsOf(program)) ?? ""));
}

/** A command by its words (`group create`), with what may follow: commands, words that an argument may be, options. */
type Entry = { words: string; summary: string; commands: string[]; choices: string[]; options: { flag: string; text: string }[] };

function commandsOf(program: Command): Entry[] {
  const common = flags(program.options);
  const entry = (command: Command, words: string): Entry => ({
    words,
    summary: command.summary() || command.description(),
    commands: command.commands.map((child) => child.name()),
    choices: command.registeredArguments.flatMap((argument) => argument.argChoices ?? []),
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
const candidates = (entry: Entry) => [...entry.commands, ...entry.choices, ...entry.options.map((option) => option.flag)].join(" ");

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
    for (const choice of entry.choices) lines.push(`complete -c renn -n ${fishText(condition)} -a ${choice}`);
    const own = entry.words === "" ? entry.options : entry.options.filter((option) => !top?.options.includes(option));
    const where = entry.words === "" ? "" : ` -n ${fishText(condition)}`;
    for (const { flag, text } of own) lines.push(`complete -c renn${where} -l ${flag.slice(2)} -d ${fishText(text)}`);
  }
  return `${lines.join("\n")}\n`;
}
