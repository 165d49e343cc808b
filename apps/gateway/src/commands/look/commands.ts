// Implements /commands: prints every command that this person may use, by group, and those of the agent's
// skills.
import type { ChatCommand, PastLaneCommand } from "../chat-command.ts";

const groups: readonly (readonly [title: string, names: readonly string[]])[] = [
  ["Conversation", ["new", "reset", "compact", "name", "stop", "steer", "btw", "handoff", "export_session"]],
  ["Answers", ["model", "think", "reasoning", "verbose", "queue", "activation"]],
  [
    "Look",
    ["help", "commands", "status", "usage", "context", "tools", "agents", "tasks", "subagents", "unfocus"],
  ],
  ["Decide", ["approve", "deny", "answer", "estop", "pair", "restart"]],
];
const rest = "More";

/** The table passes `listed` in, because it lists this command too. */
export function commandsOn(listed: (owner: boolean) => readonly ChatCommand[]): PastLaneCommand {
  return {
    name: "commands",
    summary: "all commands, by group, with those of skills",
    place: "past-lane",
    onlyTells: true,
    async run({ owner, route }, { skills }) {
      const all = listed(owner);
      const grouped = new Set(groups.flatMap(([, names]) => names));
      const own = await skills.menu(route.agent);
      const sections = [
        ...groups.map(
          ([title, names]) =>
            [title, names.flatMap((each) => all.filter((one) => one.name === each))] as const,
        ),
        [rest, all.filter((one) => !grouped.has(one.name))] as const,
      ].map(([title, found]) => [title, found.map(({ name, summary }) => `/${name} - ${summary}`)] as const);
      const ofSkills = own.map(({ name, description }) => `/${name} - ${description}`);
      return [...sections, ["Skills", ofSkills] as const]
        .filter(([, lines]) => lines.length > 0)
        .map(([title, lines]) => `**${title}**\n${lines.join("\n")}`)
        .join("\n\n");
    },
  };
}
