// /reasoning: who sees what the model thinks. Set by whoever may talk; everybody in the chat sees it.
import { type LaneCommand, isClearing, ownReasoning, reasoningField, reasoningOf } from "@parley/runner";
import { reasoningWords, setDirectives, talkOf, type DirectiveOptions } from "./think.ts";

export function reasoningCommand(options: DirectiveOptions): LaneCommand {
  return {
    name: "reasoning",
    summary: "whether my thoughts are shown: off, on or stream",
    async run(call) {
      const { agent, session, model } = await talkOf(options, call);
      const [word = ""] = call.args.split(/\s+/, 1);
      if (word !== "" && isClearing(word)) {
        const cleared = await options.sessions.patch(call.key, { [reasoningField]: null });
        return reasoningWords[reasoningOf({ agent, session: cleared })];
      }
      if (word !== "") return setDirectives(options, call, model);
      const from = ownReasoning(session) === null ? "the default" : "set for this conversation";
      return `Reasoning: ${reasoningOf({ agent, session })} (${from}).\nUsage: /reasoning off|on|stream, or /reasoning default.`;
    },
  };
}
