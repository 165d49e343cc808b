// /new and /reset: a new epoch of the session. What stood after the name is the first message of the new conversation, and its answer is
// answer enough; a model named first answers in it.
import { parseSessionKey, type Clock } from "@parley/protocol";
import type { Sessions } from "@parley/store";
import { messageAfter } from "../receive/command.ts";
import { beginAnew } from "../receive/reset-policy.ts";
import { type LaneCommand, modelField, type FoundModel, startupDue } from "@parley/runner";

export interface NewCommandOptions {
  readonly sessions: Sessions;
  /** For the agent of that id. */
  readonly find: (agent: string, word: string) => Promise<FoundModel>;
  readonly clock: Clock;
}

export function newCommand({ sessions, find, clock }: NewCommandOptions): LaneCommand {
  return {
    name: "new",
    summary: "begin a new conversation; /new MODEL with that model",
    async run(call) {
      const { key, model } = call;
      const found = model === undefined ? null : await find(parseSessionKey(key).agent, model);
      const session = await beginAnew(sessions, key, clock.now());
      const chosen = found !== null && "ref" in found ? found.ref : null;
      const patch = chosen === null ? {} : { [modelField]: chosen };
      const trouble =
        found !== null && chosen === null
          ? ` \`${model}\` cannot be used now: the model stays as it was.`
          : "";
      if (messageAfter(call) !== null)
        return { answer: trouble === "" ? null : `A new conversation.${trouble}`, patch };
      const withIt = chosen === null ? "" : ` with \`${chosen}\``;
      return {
        answer: `A new conversation${withIt}. What was said before is kept, but I no longer look at it.${trouble}`,
        patch: { ...patch, ...startupDue(session.epoch) },
      };
    },
  };
}

export function resetCommand(options: NewCommandOptions): LaneCommand {
  return { ...newCommand(options), name: "reset", summary: "the same as /new" };
}
