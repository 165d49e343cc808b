// Implements /memory: an owner reads what the nightly upkeep proposes for the notes, and accepts or refuses
// it. Buttons of its cards send the same words.
import { senderId } from "@parley/access";
import { isFault } from "@parley/protocol";
import { changeWords } from "@parley/runner";
import { plainly, type PastLaneCommand } from "../chat-command.ts";

const usage =
  "Usage: /memory shows what is proposed for my notes; /memory accept ID [numbers] does it, /memory refuse ID leaves them as they are.";
const mostShown = 5;

export const memory: PastLaneCommand = {
  name: "memory",
  summary: "what my nightly upkeep proposes for my notes",
  place: "past-lane",
  ownersOnly: true,
  onlyTells: true,
  suggests: async () => plainly(["accept", "refuse"]),
  async run({ args, inbound, owner }, { upkeep }) {
    if (inbound.address.kind !== "dm") return "Ask me that in private: my notes are shown there alone.";
    const [, word = "", id = "", numbers = ""] = /^(\S*)\s*(\S*)\s*([\s\S]*)$/.exec(args) ?? [];
    const by = { person: senderId(inbound), name: inbound.sender.name, owner };
    try {
      if (word === "") {
        const open = (await upkeep.list()).filter(({ state }) => state === "open");
        const shown = open
          .slice(0, mostShown)
          .map(({ id: each, agent, changes }) =>
            [
              `\`${each}\`, notes of agent "${agent}":`,
              ...changes.map((change, at) => `${at + 1}. ${changeWords(change)}`),
            ].join("\n"),
          );
        const more = open.length > mostShown ? [`and ${open.length - mostShown} more`] : [];
        return open.length === 0
          ? `Nothing is proposed for my notes. ${usage}`
          : [...shown, ...more, usage].join("\n\n");
      }
      if ((word !== "accept" && word !== "refuse") || id === "") return usage;
      const only = numbers.split(/[\s,]+/).filter((each) => each !== "");
      if (only.some((each) => !/^\d{1,3}$/.test(each))) return usage;
      const said =
        word === "accept" ? await upkeep.accept(id, by, only.map(Number)) : await upkeep.refuse(id, by);
      // The card shows it to whoever pressed.
      return inbound.kind === "callback" ? null : `Notes: ${said}`;
    } catch (error) {
      if (!isFault(error)) throw error;
      return `⚠️ ${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}`;
    }
  },
};
