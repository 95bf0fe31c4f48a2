// group: named sets of peers.
import type { Command } from "commander";
import type { Fields, GroupRecord } from "../../protocol/schemas.ts";
import { harmlessLine } from "../../protocol/text.ts";
import { hint, print, printJson } from "./output.ts";
import { type Common, optionsOf, withBus } from "./run.ts";
import { ago, bold, dim, examples, joined, peer } from "./style.ts";

const groupExamples: [string, string][] = [
  ["renn group create team web api", "make it, with members"],
  ['renn send @team "Ready?" --wait', "ask all of them"],
  ["renn group remove team api", "take a member out"],
];

/** Adds `group` and what it does. */
export function registerGroup(program: Command): void {
  const group = program.command("group").alias("groups").summary("make, list and change groups").helpCommand(false);
  group.addHelpText("after", () => `\n${examples("Examples:", groupExamples)}`);
  group
    .command("create")
    .summary("make a group")
    .argument("<name>", "its name, without @")
    .argument("[handle...]", "members")
    .action(async (name: string, members: string[], _options, command: Command) =>
      change({ action: "create", name: bare(name), members }, command),
    );
  group
    .command("list", { isDefault: true })
    .summary("list groups")
    .argument("[name]", "only this one")
    .action(async (name: string | undefined, _options, command: Command) =>
      change({ action: "list", ...(name === undefined ? {} : { name: bare(name) }) }, command),
    );
  group
    .command("add")
    .summary("add members")
    .argument("<name>", "the group")
    .argument("<handle...>", "members")
    .action(async (name: string, members: string[], _options, command: Command) =>
      change({ action: "add", name: bare(name), members }, command),
    );
  group
    .command("remove")
    .summary("remove members")
    .argument("<name>", "the group")
    .argument("<handle...>", "members")
    .action(async (name: string, members: string[], _options, command: Command) =>
      change({ action: "remove", name: bare(name), members }, command),
    );
  group
    .command("delete")
    .summary("delete a group")
    .argument("<name>", "the group")
    .action(async (name: string, _options, command: Command) => change({ action: "delete", name: bare(name) }, command));
}

/** All members, on as many lines as they need. */
function groupText(group: GroupRecord): string {
  const members = group.members.map(peer).join(", ") || "(nobody)";
  return joined([bold(`@${group.name}`), members, dim(`by ${harmlessLine(group.createdBy)}, ${ago(group.createdAt)}`)]);
}

const bare = (name: string) => name.replace(/^@/, "");

async function change(fields: Fields<"groups">, command: Command): Promise<void> {
  const options: Common = optionsOf(command);
  await withBus(options, async (me) => {
    const groups = await me.client.call("groups", fields);
    if (options.json) return printJson(groups);
    if (fields.action === "delete") return print(`deleted @${fields.name}`);
    await print(groups.map(groupText).join("\n") || "no groups yet");
    if (groups[0] && fields.action === "create") await hint(`renn send @${groups[0].name} "…" --wait`);
  });
}
