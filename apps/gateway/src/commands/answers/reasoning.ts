// Implements /reasoning: sets who sees the model's thoughts. Whoever may talk may set it, and everybody in
// the chat sees it.
import { isClearing, ownReasoning, reasoningField, reasoningOf } from "@parley/runner";
import { type InLaneCommand, plainly } from "../chat-command.ts";
import { reasoningWords, setDirectives, talkOf } from "./think.ts";

export const reasoning: InLaneCommand = {
  name: "reasoning",
  summary: "whether my thoughts are shown: off, on or stream",
  place: "in-lane",
  isDirective: true,
  suggests: async () => plainly(["off", "on", "stream", "default"]),
  async run(call, ports) {
    const { agent, session, model } = await talkOf(ports, call);
    const { sessions } = ports.store;
    const [word = ""] = call.args.split(/\s+/, 1);
    if (word !== "" && isClearing(word)) {
      const cleared = await sessions.patch(call.key, { [reasoningField]: null });
      return reasoningWords[reasoningOf({ agent, session: cleared })];
    }
    if (word !== "") return setDirectives(sessions, call, model);
    const from = ownReasoning(session) === null ? "the default" : "set for this conversation";
    return `Reasoning: ${reasoningOf({ agent, session })} (${from}).\nUsage: /reasoning off|on|stream, or /reasoning default.`;
  },
};
