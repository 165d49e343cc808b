// /skill: the list of skills, and what is said of a name that none has. A message that calls one never comes
// here.
import type { PastLaneCommand } from "./chat-command.ts";

export const skill: PastLaneCommand = {
  name: "skill",
  summary: "use a skill by its name; alone it lists them",
  place: "past-lane",
  run: (call, { skills }) => skills.list(call),
};
