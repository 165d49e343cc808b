// Implements /help: prints one line for each command that this person may use, but for /help itself, or the
// line of the one that is named. A name that is none is answered with the nearest.
import { nearestWord } from "@parley/config";
import type { ChatCommand, PastLaneCommand } from "../chat-command.ts";

const shownChars = 40;

/** The table passes `listed` in, because it lists this command too. */
export function helpOn(listed: (owner: boolean) => readonly ChatCommand[]): PastLaneCommand {
  return {
    name: "help",
    summary: "what I understand",
    place: "past-lane",
    onlyTells: true,
    async run({ owner, args }) {
      const all = listed(owner);
      const [word = ""] = args.split(/\s+/, 1);
      if (word === "")
        return all
          .filter(({ name }) => name !== "help")
          .map(lineOf)
          .join("\n");
      const asked = word.toLowerCase().replace(/^\//, "").slice(0, shownChars).toWellFormed();
      const found = all.find(({ name, aliases = {} }) => name === asked || Object.hasOwn(aliases, asked));
      if (found !== undefined) return lineOf(found);
      const near = nearestWord(
        asked,
        all.map(({ name }) => name),
      );
      const hint = near === null ? "" : ` Did you mean /${near}?`;
      return `There is no command /${asked}.${hint} /help lists them.`;
    },
  };
}

const lineOf = ({ name, summary }: ChatCommand): string => `/${name} - ${summary}`;
