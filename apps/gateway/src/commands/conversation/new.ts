// Implements /new and /reset: starts a new epoch of the session. The text after the name is the first message
// of the new conversation, whose answer confirms the command; a model named first answers in it.
import { parseSessionKey } from "@parley/protocol";
import { agentIn, type LaneCommandCall, type LaneCommandEnd, modelField, startupDue } from "@parley/runner";
import { carriedMessage, type CommandPorts, type InLaneCommand } from "../chat-command.ts";

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
  { config, modelCatalog, heard }: CommandPorts,
): Promise<LaneCommandEnd> {
  const { key, model } = call;
  const agent = agentIn(config);
  const found =
    model === undefined ? null : await modelCatalog.find(agent(parseSessionKey(key).agent), model);
  const begun = await heard.beginAnew(key, `/${call.name}`);
  const said = await heard.ended(call.name, key, call.inbound, begun);
  const chosen = found !== null && "ref" in found ? found.ref : null;
  const patch = chosen === null ? {} : { [modelField]: chosen };
  const trouble =
    found !== null && chosen === null ? ` \`${model}\` cannot be used now: the model stays as it was.` : "";
  const answered = (answer: string | null): string | null =>
    said.length === 0 ? answer : [...(answer === null ? [] : [answer]), ...said].join("\n\n");
  if (carriedMessage("message", call) !== null)
    return { answer: answered(trouble === "" ? null : `A new conversation.${trouble}`), patch };
  const withIt = chosen === null ? "" : ` with \`${chosen}\``;
  return {
    answer: answered(
      `A new conversation${withIt}. What was said before is kept, but I no longer look at it.${trouble}`,
    ),
    patch: { ...patch, ...startupDue(begun.session.epoch) },
  };
}
