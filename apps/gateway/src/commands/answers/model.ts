// Implements /model: shows or sets which model answers in this conversation. A choice is strict: when the
// chosen model fails, no other one answers in its place. The config sets the model of an agent or of all.
import type { AgentConfig } from "@parley/config";
import type { Session } from "@parley/store";
import { type LaneCommandCall, type ModelCatalog, modelField, type ModelChoice } from "@parley/runner";
import { type CommandPorts, type InLaneCommand, carriedMessage, plainly } from "../chat-command.ts";
import { talkOf } from "./think.ts";

const usage = "Usage: /model list, /model NAME, or /model default.";
const listedModels = 40;

export const model: InLaneCommand = {
  name: "model",
  aliases: { models: "list" },
  summary: "which model answers here: /model list, /model NAME, /model default",
  place: "in-lane",
  carries: "model",
  async suggests({ route }, { config, modelCatalog }) {
    const agent = config.agents.list.find(({ id }) => id === route.agent);
    const known = agent === undefined ? [] : modelCatalog.choices(agent);
    return [
      ...known.map(({ ref, alias }) => ({
        label: alias === undefined ? ref : `${alias} (${ref})`,
        value: alias ?? ref,
      })),
      ...plainly(["default", "list"]),
    ];
  },
  async run(call, ports) {
    const { modelCatalog, store } = ports;
    const { agent, session } = await talkOf(ports, call);
    const words = call.args.split(/\s+/).filter((word) => word !== "" && word !== "-s");
    const [word = "status"] = words;
    if (words.includes("-a") || words.includes("-g"))
      return "For the agent or for all the model is set in the config: agents.defaults.model, agents.list[].model.";
    switch (word.toLowerCase()) {
      case "status":
        return status(modelCatalog, agent, session);
      case "list":
        return list(modelCatalog, agent, session);
      case "default":
      case "reset":
        return status(modelCatalog, agent, await store.sessions.patch(call.key, { [modelField]: null }));
      default:
        return choose(ports, agent, word, call);
    }
  },
};

function status(catalog: ModelCatalog, agent: AgentConfig, session: Session): string {
  const { primary, fallbacks, own } = catalog.of(agent, session);
  const behind =
    fallbacks.length === 0 ? "" : `\nWhen it fails: ${fallbacks.map((ref) => `\`${ref}\``).join(", ")}.`;
  return `Model: \`${primary}\` (${own ? "chosen for this conversation" : "the default"}).${behind}\n${usage}`;
}

function list(catalog: ModelCatalog, agent: AgentConfig, session: Session): string {
  const choices = catalog.choices(agent);
  const now = catalog.of(agent, session).primary;
  const line = ({ ref, alias }: ModelChoice, index: number): string =>
    `${index + 1}. \`${ref}\`${alias === undefined ? "" : ` (${alias})`}${ref === now ? " - in use" : ""}`;
  const more = choices.length > listedModels ? [`… and ${choices.length - listedModels} more.`] : [];
  return [...choices.slice(0, listedModels).map(line), ...more, usage].join("\n");
}

async function choose(
  { modelCatalog, store }: CommandPorts,
  agent: AgentConfig,
  word: string,
  call: LaneCommandCall,
): Promise<string | null> {
  const found = await modelCatalog.find(agent, word);
  if ("nearest" in found) {
    const meant = found.nearest.map((name) => `\`${name}\``).join(", ");
    const shown = word.replaceAll("`", "").slice(0, 80);
    return `I know no model "${shown}".${meant === "" ? "" : ` Did you mean ${meant}?`} /model list shows all.`;
  }
  await store.sessions.patch(call.key, { [modelField]: found.ref });
  // The answer to the message that came along confirms the change.
  return carriedMessage(model.carries, call) === null
    ? `Model: \`${found.ref}\` for this conversation.`
    : null;
}
