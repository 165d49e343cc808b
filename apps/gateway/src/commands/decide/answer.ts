// Implements /answer: a person answers a question of `ask_user`, typed, by a button or by a form. The
// question itself knows who may answer it.
import { senderId } from "@parley/access";
import { isFault } from "@parley/protocol";
import type { PastLaneCommand } from "../chat-command.ts";

export const answer: PastLaneCommand = {
  name: "answer",
  summary: "answer a question that I asked: /answer ID your words",
  place: "past-lane",
  async run({ inbound, owner, args }, { questions }) {
    const [, id = "", text = ""] = /^(\S*)\s*([\s\S]*)$/.exec(args) ?? [];
    if (id === "") return "Usage: /answer ID your words, or the number of an option.";
    try {
      const said = await questions.answer(id, text, {
        person: senderId(inbound),
        name: inbound.sender.name,
        owner,
      });
      // The question's card shows the answer to whoever pressed or wrote a number.
      return inbound.text.startsWith("/answer") && inbound.kind !== "callback" ? said : null;
    } catch (error) {
      if (
        isFault(error, "missing") ||
        isFault(error, "denied") ||
        isFault(error, "conflict") ||
        isFault(error, "invalid")
      )
        return `⚠️ ${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}.`;
      throw error;
    }
  },
};
