// Implements /verbose: whether the tool calls of this conversation's turns are shown in it. In a place that
// several people share only owners set it, because arguments and results may tell more than the answer.
import { verboseField, verboseLevels, verboseOf, type VerboseLevel } from "@parley/runner";
import { type PastLaneCommand, plainly } from "../chat-command.ts";

const usage = "Usage: /verbose on|off|full.";

const words: { readonly [level in VerboseLevel]: string } = {
  off: "Tool calls are not shown here.",
  on: "Tool calls are shown here, with short arguments.",
  full: "Tool calls are shown here, with short arguments and the beginning of their results.",
};

export const verbose: PastLaneCommand = {
  name: "verbose",
  summary: "show the tools that I call, with their results too: /verbose on, off or full",
  place: "past-lane",
  suggests: async () => plainly(verboseLevels),
  async run({ args, owner, inbound, route: { session } }, { store: { sessions } }) {
    const wanted = args.toLowerCase();
    if (wanted === "") return `${words[verboseOf(await sessions.open(session))]}\n${usage}`;
    const level = wanted === "default" ? "off" : verboseLevels.find((each) => each === wanted);
    if (level === undefined) return usage;
    if (!owner && inbound.address.kind !== "dm") return "Only an owner may set that here.";
    await sessions.patch(session, { [verboseField]: level === "off" ? null : level });
    return level === "off" ? words.off : `${words[level]} From the next message on.`;
  },
};
