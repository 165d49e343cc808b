// Lets the agent read and set the state of its own session: the model that answers, the usage, the plan. The
// ports of the tools session_status and update_plan keep it in the session's fields.
import { Fault, noUsage, type Json, type Usage } from "@parley/protocol";
import type { Session } from "@parley/store";
import type { Plans, SessionStatus } from "@parley/tools";
import { modelCatalog, modelField } from "../models/model-catalog.ts";
import { agentIn } from "../prepare-turn.ts";
import type { Services } from "../turn-scope.ts";

const planField = "plan";

export function statusPort(services: Pick<Services, "config" | "models" | "sessions">): SessionStatus {
  const { config, sessions } = services;
  const models = modelCatalog(config, services.models);
  const agentOf = agentIn(config);
  return {
    async lines({ session: key, agent: id }) {
      const session = await sessions.open(key);
      const { primary, fallbacks, own } = models.of(agentOf(id), session);
      const used = { ...noUsage, ...(session.fields["usage"] as Partial<Usage> | undefined) };
      return [
        { name: "Session", value: key },
        { name: "Model", value: `${primary} (${own ? "chosen for this session" : "the default"})` },
        ...(fallbacks.length === 0 ? [] : [{ name: "When it fails", value: fallbacks.join(", ") }]),
        {
          name: "Tokens of this session",
          value: `${used.inputTokens} in, ${used.outputTokens} out, ${used.cacheReadTokens} from cache`,
        },
        { name: "Entries", value: String(session.lastSeq) },
        ...planLines(session),
      ];
    },
    async setModel({ session: key, agent: id }, word) {
      const agent = agentOf(id);
      if (word === null)
        return `${models.of(agent, await sessions.patch(key, { [modelField]: null })).primary}, from the next turn on`;
      const found = await models.find(agent, word);
      if ("nearest" in found) {
        const meant = found.nearest.length === 0 ? "" : `; near it: ${found.nearest.join(", ")}`;
        throw new Fault("invalid", `there is no model ${JSON.stringify(word.slice(0, 80))}${meant}`);
      }
      await sessions.patch(key, { [modelField]: found.ref });
      return `${found.ref}, from the next turn on`;
    },
  };
}

export function plansPort({ sessions }: Pick<Services, "sessions">): Plans {
  return {
    async save({ session }, plan) {
      await sessions.patch(session, { [planField]: plan as unknown as Json });
    },
  };
}

function planLines({ fields }: Session): readonly { readonly name: string; readonly value: string }[] {
  const plan = fields[planField] as
    | { readonly steps?: readonly { readonly step: string; readonly status: string }[] }
    | undefined;
  return (plan?.steps ?? []).map(({ step, status }) => ({
    name: `Plan, ${status.replace("_", " ")}`,
    value: step.replaceAll(/\s+/g, " "),
  }));
}
