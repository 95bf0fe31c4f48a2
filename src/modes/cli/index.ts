// The commands for people and for agents in a shell. Only the family that is asked for is loaded; help and completion load all.
import { Command, CommanderError } from "commander";
import { version } from "../../version.ts";
import { failed, print, printJson, UsageError, warn } from "./output.ts";
import { checkHome, optionsOf } from "./run.ts";
import { bold, examples, helpColumns, wrapped } from "./style.ts";

type Family = { names: string[]; load: () => Promise<(program: Command) => void> };

/** Every family with the names that lead to it, in the order of the help. */
const families: Record<string, Family[]> = {
  "Messages:": [
    { names: ["send", "reply"], load: async () => (await import("./send.ts")).registerSend },
    { names: ["inbox", "read", "ack"], load: async () => (await import("./inbox.ts")).registerInbox },
    { names: ["wait", "collect"], load: async () => (await import("./wait.ts")).registerWait },
    { names: ["thread", "threads", "search", "export"], load: async () => (await import("./thread.ts")).registerThread },
    { names: ["watch"], load: async () => (await import("./watch.ts")).registerWatch },
    { names: ["why", "cancel"], load: async () => (await import("./why.ts")).registerWhy },
  ],
  "Peers:": [
    { names: ["status", "whoami", "name", "mute", "prune"], load: async () => (await import("./peers.ts")).registerPeers },
    { names: ["group", "groups"], load: async () => (await import("./group.ts")).registerGroup },
  ],
  "Setup and upkeep:": [
    { names: ["init", "uninstall"], load: async () => (await import("./init.ts")).registerInit },
    { names: ["doctor"], load: async () => (await import("./doctor.ts")).registerDoctor },
    { names: ["broker"], load: async () => (await import("./broker.ts")).registerBroker },
    { names: ["token", "backup", "restore"], load: async () => (await import("./upkeep.ts")).registerUpkeep },
    { names: ["demo"], load: async () => registerDemo },
    { names: ["completion"], load: async () => (await import("./completion.ts")).registerCompletion },
    { names: ["protocol"], load: async () => (await import("./protocol.ts")).registerProtocol },
    { names: ["version"], load: async () => registerVersion },
    { names: ["hook", "mcp"], load: async () => registerMachines },
  ],
};

const everyFamily = Object.values(families).flat();

const notes = [
  "TO is a handle, a group (@name) or @all (everybody who is there). A body of `-` is read from standard input.",
  "Inside a CLI session's shell every command acts as that session; elsewhere it acts as you, the owner. With --as NAME, or in a shell with RENN_HANDLE=NAME, it acts as the peer NAME, which is made where there is none.",
  "Exit status: 0 done, 1 refused by the bus, 2 usage, 3 broker not reachable, 4 timed out, 5 a sandbox keeps the command from the broker.",
  "Environment: RENN_HOME (default ~/.renn), RENN_HANDLE, NO_COLOR, RENN_LOG.",
];

const firstSteps: [string, string][] = [
  ["renn demo", "see the bus at work"],
  ["renn init", "let your CLI sessions join"],
  ["renn status", "who is there"],
  ['renn send HANDLE "question" --wait', "ask, and wait for the answer"],
  ["renn inbox", "what has come for you"],
  ['renn reply ID "answer" --agree', "answer it"],
  ["export RENN_HANDLE=web", "be a peer called web in this shell"],
];

const helpEnd = () => `\n${notes.map((note) => wrapped(note, helpColumns())).join("\n\n")}\n\n${examples("First steps:", firstSteps)}`;

/** Runs a command line and ends the process with its status. */
export async function cli(args: string[]): Promise<never> {
  process.exit(await runCli(args));
}

async function runCli(given: string[]): Promise<number> {
  // `help group create` is `group create --help`.
  const args = given[0] === "help" ? [...given.slice(1), "--help"] : given;
  const program = newProgram(args[0] ?? "");
  try {
    if (args.includes("--help") || args.includes("-h")) checkCommand(args[0] ?? "");
    await register(program, args);
    if (!args.length) {
      await print(`${program.helpInformation().trimEnd()}\n${helpEnd()}`);
      return 0;
    }
    program.hook("preAction", checkHome);
    await program.parseAsync(waitWord(args), { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    return failed(error);
  }
}

/** The command library would answer a wrong name beside --help with the whole help. */
function checkCommand(name: string): void {
  if (/^[^-]/.test(name) && !isKnown(name)) throw new UsageError(`unknown command ${JSON.stringify(name)}; more: renn --help`);
}

const isKnown = (name: string) => everyFamily.some((family) => family.names.includes(name));

function newProgram(name: string): Command {
  const program = new Command("renn");
  return program
    .description("A local message bus through which AI coding sessions and you talk in threads.")
    .usage("<command> [options]")
    .option("--json", "answer as JSON")
    .option("--as <handle>", "act as this handle")
    .option("--owner", "act as the owner, also inside a session")
    .version(version, "-V, --version", "print the version")
    .helpOption("-h, --help", "print help")
    .addHelpCommand(new Command("help").argument("[command...]").description("print help for a command").helpGroup("Setup and upkeep:"))
    .configureHelp({
      // Asked for by help alone: the width of a terminal costs a command milliseconds.
      get helpWidth() {
        return helpColumns();
      },
      minWidthToWrap: 20,
      styleTitle: bold,
      showGlobalOptions: true,
      visibleGlobalOptions: (command) => (command.parent ? program.options.filter((option) => option.long !== "--version") : []),
    })
    .configureOutput({ outputError: (text) => warn(usageLine(text, name)) })
    .addHelpText("after", helpEnd)
    .exitOverride();
}

/** What the command library says of a command line, in one line with what helps. */
function usageLine(text: string, name: string): string {
  const line = text.replace(/^error: |\.?\n$/g, "").replace(/\s*\n\s*/g, " ");
  // What looks like an option is often a body.
  const maybeBody = line.startsWith("unknown option") && (name === "send" || name === "reply");
  if (maybeBody) return `${line}; put -- before a body that begins with a hyphen`;
  return `${line}; more: renn ${isKnown(name) ? `${name} ` : ""}--help`;
}

async function register(program: Command, args: string[]): Promise<void> {
  // The option needs no family of its own; what prints as much does.
  const name = args.length === 1 && (args[0] === "--version" || args[0] === "-V") ? "version" : (args[0] ?? "");
  const wanted = name === "completion" ? undefined : everyFamily.find((family) => family.names.includes(name));
  for (const [heading, list] of Object.entries(families)) {
    program.commandsGroup(heading);
    for (const family of list) if (!wanted || family === wanted) (await family.load())(program);
  }
}

/** `--wait` may stand without its word: what follows it then belongs to the recipients or is the body. */
function waitWord(args: string[]): string[] {
  if (args[0] !== "send") return args;
  const end = args.indexOf("--");
  return args.map((arg, i) => {
    const bare = (arg === "--wait" || arg === "-w") && (end < 0 || i < end);
    return bare && args[i + 1] !== "all" && args[i + 1] !== "any" ? "--wait=all" : arg;
  });
}

function registerVersion(program: Command): void {
  program
    .command("version")
    .summary("print the version")
    .action(async (_options, command: Command) => (optionsOf(command).json ? printJson({ version }) : print(version)));
}

function registerDemo(program: Command): void {
  program
    .command("demo")
    .summary("see the bus at work, in a home of its own that goes away again")
    .description(
      "Starts a broker in a new temporary folder, lets three sessions without a model consult each other, and removes it all. Takes some seconds; your own home and CLIs are not touched.",
    )
    .action(async (_options, command: Command) => (await import("../demo.ts")).demo(optionsOf(command)));
}

/** What only programs call; main.ts takes these before the command library is loaded. */
function registerMachines(program: Command): void {
  program
    .command("hook")
    .summary("report from a CLI's hook (what init installs)")
    .description(
      "What a CLI runs at each event of a session: reads the event as JSON on standard input, tells the bus, and prints what the session should see, or nothing. Always ends with status 0 and within a second, whatever is wrong; then a line in hook.log of the home says why. For a program that init does not know: renn hook other EVENT, where EVENT is session-start, prompt, post-tool, stop or session-end and the input has session_id (docs/clis.md).",
    )
    .argument("[client]", "claude, codex, gemini, zcode, opencode, hummin or other; guessed where it is left out")
    .argument("[event]", "where the input does not name it")
    .action(async (client?: string, event?: string) =>
      (await import("../hook.ts")).hook([client, event].filter((word) => word !== undefined)),
    );
  program
    .command("mcp")
    .summary("serve the bus as MCP tools on standard input and output")
    .description(
      "Serves the bus as MCP tools, resources and prompts on standard input and output, for the session that starts it. `renn init` enters it in each CLI; docs/mcp.md lists the tools.",
    )
    .action(async () => (await import("../mcp.ts")).mcp());
}
