// Implements /skill without a known skill: prints the list, or that no skill has the name. A message that
// calls a skill never reaches this command.
import { type PastLaneCommand, plainly } from "../chat-command.ts";

export const skill: PastLaneCommand = {
  name: "skill",
  summary: "use a skill by its name; alone it lists them",
  place: "past-lane",
  suggests: async (by, { skills }) => plainly(await skills.names(by)),
  run: (call, { skills }) => skills.list(call),
};
