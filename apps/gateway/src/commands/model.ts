// /model: which model answers in this conversation. A choice is strict: when the chosen model fails, no other one answers in its place.
// For an agent, or for all, the choice stands in the config.
import type { AgentConfig } from "@parley/config";
import type { Session } from "@parley/store";
import { messageAfter } from "../receive/command.ts";
import { type LaneCommand, type LaneCommandCall, modelField, type ModelChoice } from "@parley/runner";
import { talkOf, type DirectiveOptions } from "./think.ts";

const usage = "Usage: /model list, /model NAME, or /model default.";
const listedModels = 40;

export function modelCommand(options: DirectiveOptions): LaneCommand {
  const { sessions, book } = options;

  function status(agent: AgentConfig, session: Session): string {
    const { primary, fallbacks, own } = book.of(agent, session);
    const behind =
      fallbacks.length === 0 ? "" : `\nWhen it fails: ${fallbacks.map((ref) => `\`${ref}\``).join(", ")}.`;
    return `Model: \`${primary}\` (${own ? "chosen for this conversation" : "the default"}).${behind}\n${usage}`;
  }

  function list(agent: AgentConfig, session: Session): string {
    const choices = book.choices(agent);
    const now = book.of(agent, session).primary;
    const line = ({ ref, alias }: ModelChoice, index: number): string =>
      `${index + 1}. \`${ref}\`${alias === undefined ? "" : ` (${alias})`}${ref === now ? " - in use" : ""}`;
    const more = choices.length > listedModels ? [`… and ${choices.length - listedModels} more.`] : [];
    return [...choices.slice(0, listedModels).map(line), ...more, usage].join("\n");
  }

  async function choose(agent: AgentConfig, word: string, call: LaneCommandCall): Promise<string | null> {
    const found = await book.find(agent, word);
    if ("nearest" in found) {
      const meant = found.nearest.map((name) => `\`${name}\``).join(", ");
      const shown = word.replaceAll("`", "").slice(0, 80);
      return `I know no model "${shown}".${meant === "" ? "" : ` Did you mean ${meant}?`} /model list shows all.`;
    }
    await sessions.patch(call.key, { [modelField]: found.ref });
    // The answer to the message that came along is answer enough.
    return messageAfter(call) === null ? `Model: \`${found.ref}\` for this conversation.` : null;
  }

  return {
    name: "model",
    summary: "which model answers here: /model list, /model NAME, /model default",
    async run(call) {
      const { agent, session } = await talkOf(options, call);
      const words = call.args.split(/\s+/).filter((word) => word !== "" && word !== "-s");
      const [word = "status"] = words;
      if (words.includes("-a") || words.includes("-g"))
        return "For the agent or for all the model is set in the config: agents.defaults.model, agents.list[].model.";
      switch (word.toLowerCase()) {
        case "status":
          return status(agent, session);
        case "list":
          return list(agent, session);
        case "default":
        case "reset":
          return status(agent, await sessions.patch(call.key, { [modelField]: null }));
        default:
          return choose(agent, word, call);
      }
    },
  };
}
