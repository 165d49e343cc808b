// Implements /name: gives this conversation a name, which the lists of sessions show to people.
import { plainLine } from "@parley/agent";
import { nameOf, nameField } from "@parley/runner";
import type { PastLaneCommand } from "../chat-command.ts";

const mostChars = 60;

export const name: PastLaneCommand = {
  name: "name",
  summary: "name this conversation: /name Taxes; /name off takes the name away",
  place: "past-lane",
  async run({ args, route: { session } }, { store: { sessions } }) {
    if (args === "") {
      const now = nameOf(await sessions.open(session));
      return now === null ? "This conversation has no name. Usage: /name WORDS." : `Its name is "${now}".`;
    }
    const given = args.toLowerCase() === "off" ? null : plainLine(args, mostChars);
    await sessions.patch(session, { [nameField]: given });
    return given === null ? "This conversation has no name now." : `This conversation is "${given}" now.`;
  },
};
