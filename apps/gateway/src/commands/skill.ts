// Implements /skill without a known skill: prints the list, or that no skill has the name. A message that
// calls a skill never reaches this command.
import type { PastLaneCommand } from "./chat-command.ts";

export const skill: PastLaneCommand = {
  name: "skill",
  summary: "use a skill by its name; alone it lists them",
  place: "past-lane",
  run: (call, { skills }) => skills.list(call),
};
