// Which models no cap in dollars can hold, because nobody knows their price: a cap that holds nothing must
// not look like one.
import type { Config } from "@parley/config";
import type { Models } from "@parley/models";

export interface UncappedModel {
  readonly agent: string;
  readonly model: string;
}

/**
 * Of each agent with such a cap: its own models, and those that people may choose. The rehearsal costs
 * nothing.
 */
export function uncappedModels(
  { agents: { defaults, list } }: Config,
  models: Pick<Models, "list">,
): readonly UncappedModel[] {
  const capped = list.filter(({ spend }) => spend?.dayUsd !== undefined || spend?.monthUsd !== undefined);
  return capped.flatMap(({ id, model: { primary, fallbacks } }) => {
    const named = new Set([primary, ...fallbacks, ...Object.keys(defaults.models)]);
    const unpriced = models
      .list([...named])
      .filter(({ id: model, api, cost }) => named.has(model) && api !== "rehearsal" && cost === undefined);
    return unpriced.map(({ id: model }) => ({ agent: id, model }));
  });
}

export function uncappedWarning({ agent, model }: UncappedModel): string {
  return `the spending limit in dollars of the agent "${agent}" does not hold ${model}: its price is not known. Set the model's cost under models.providers, or limit tokens (dayTokens, monthTokens)`;
}
