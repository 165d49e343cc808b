// Implements /forget: shows an owner what would be forgotten, and forgets it after "/forget yes". That
// message does not repeat the words, because it is stored after they were forgotten.
import { isFault } from "@parley/protocol";
import type { PastLaneCommand } from "../chat-command.ts";

const mostShown = 10;
const lineChars = 120;
const usage = "Usage: /forget WORDS shows what would go; /forget yes then takes it away for good.";

export const forget: PastLaneCommand = {
  name: "forget",
  summary: "take something out of my memory: /forget WORDS",
  place: "past-lane",
  ownersOnly: true,
  onlyTells: true,
  async run({ args, inbound, route }, { forgetting }) {
    if (inbound.address.kind !== "dm")
      return "Ask me that in private: I show what I remember before it goes.";
    if (args === "") return usage;
    const { session, agent } = route;
    try {
      if (args.toLowerCase() === "yes") {
        const done = await forgetting.confirm(session, agent);
        if (done === null) return `There is nothing to confirm. ${usage}`;
        const words = done.history === null ? "" : ` and ${done.history} stored texts of conversations`;
        const notes = done.notes.map((note) => `- ${note}`);
        return [
          `Forgotten: ${done.lines.length} ${done.lines.length === 1 ? "line" : "lines"} of notes${words}.`,
          ...notes,
        ].join("\n");
      }
      const { lines } = await forgetting.ask(session, agent, args);
      const shown = lines
        .slice(0, mostShown)
        .map(({ path, line, text }) => `- ${path}#L${line}: ${cut(text.trim())}`);
      const more = lines.length > mostShown ? [`and ${lines.length - mostShown} more lines`] : [];
      const head =
        lines.length === 0
          ? "No note says that. Conversations that do would lose it too."
          : "These lines would go, and every line of our conversations that says it:";
      return [head, ...shown, ...more, "To do it: /forget yes"].join("\n");
    } catch (error) {
      if (!isFault(error)) throw error;
      return `⚠️ ${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}.`;
    }
  },
};

const cut = (text: string): string =>
  text.length <= lineChars ? text : `${text.slice(0, lineChars).toWellFormed()}…`;
