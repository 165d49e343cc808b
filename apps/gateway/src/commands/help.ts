// Implements /help: prints one line for each command that this person may use, but for /help itself.
import type { ChatCommand, PastLaneCommand } from "./chat-command.ts";

/** The table passes `listed` in, because it lists this command too. */
export function helpOn(listed: (owner: boolean) => readonly ChatCommand[]): PastLaneCommand {
  return {
    name: "help",
    summary: "what I understand",
    place: "past-lane",
    onlyTells: true,
    run: async ({ owner }) =>
      listed(owner)
        .filter(({ name }) => name !== "help")
        .map(({ name, summary }) => `/${name} - ${summary}`)
        .join("\n"),
  };
}
