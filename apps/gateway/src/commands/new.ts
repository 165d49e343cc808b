// Implements /new and /reset: starts a new epoch of the session. The text after the name is the first message
// of the new conversation, whose answer confirms the command; a model named first answers in it.
import { parseSessionKey } from "@parley/protocol";
import { agentIn, type LaneCommandCall, type LaneCommandEnd, modelField, startupDue } from "@parley/runner";
import { carriedMessage, type CommandPorts, type InLaneCommand } from "./chat-command.ts";

export const newConversation: InLaneCommand = {
  name: "new",
  summary: "begin a new conversation; /new MODEL with that model",
  place: "in-lane",
  carries: "message",
  run: begin,
};

export const reset: InLaneCommand = { ...newConversation, name: "reset", summary: "the same as /new" };

async function begin(
  call: LaneCommandCall,
  { config, modelCatalog, beginAnew }: CommandPorts,
): Promise<LaneCommandEnd> {
  const { key, model } = call;
  const agent = agentIn(config);
  const found =
    model === undefined ? null : await modelCatalog.find(agent(parseSessionKey(key).agent), model);
  const session = await beginAnew(key);
  const chosen = found !== null && "ref" in found ? found.ref : null;
  const patch = chosen === null ? {} : { [modelField]: chosen };
  const trouble =
    found !== null && chosen === null ? ` \`${model}\` cannot be used now: the model stays as it was.` : "";
  if (carriedMessage("message", call) !== null)
    return { answer: trouble === "" ? null : `A new conversation.${trouble}`, patch };
  const withIt = chosen === null ? "" : ` with \`${chosen}\``;
  return {
    answer: `A new conversation${withIt}. What was said before is kept, but I no longer look at it.${trouble}`,
    patch: { ...patch, ...startupDue(session.epoch) },
  };
}
