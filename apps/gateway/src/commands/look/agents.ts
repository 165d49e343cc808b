// Implements /agents: lists the agents of this gateway with their models, and says which one answers here.
import type { PastLaneCommand } from "../chat-command.ts";

export const agents: PastLaneCommand = {
  name: "agents",
  summary: "which agents there are, and which one answers here",
  place: "past-lane",
  onlyTells: true,
  async run({ owner, route }, { config, store, modelCatalog }) {
    const here = await store.sessions.open(route.session);
    // Whoever is no owner learns of the agent that answers, not of the others.
    const shown = config.agents.list.filter(({ id }) => owner || id === route.agent);
    return shown
      .map((agent) => {
        const answers = agent.id === route.agent;
        const fields = answers ? here.fields : {};
        return `${agent.id}: \`${modelCatalog.of(agent, { ...here, fields }).primary}\`${answers ? " - answers here" : ""}`;
      })
      .join("\n");
  },
};
