// Implements `models.list` and `models.test`: lists the models and checks whether one really works. It needs
// the config alone, so it works the same with a stopped daemon.
import type { Config } from "@parley/config";
import { thinkingLevelsOf, type Model, type Models } from "@parley/models";
import { isFault, type Clock, type MethodParams, type MethodResult } from "@parley/protocol";
import { uncappedModels } from "../../message-path/config-warnings.ts";
import { testModel } from "./test-model.ts";

export interface ModelPorts {
  readonly config: Config;
  readonly models: Models;
  readonly clock: Clock;
}

type Listed = MethodResult<"models.list">["models"][number];

export function modelMethods({ config, models, clock }: ModelPorts) {
  const { defaults, list: agents } = config.agents;

  function usedBy(id: string): string[] {
    return agents.flatMap(({ id: agent, model }) => [
      ...(model.primary === id ? [`${agent}: primary`] : []),
      ...model.fallbacks.flatMap((fallback, at) => (fallback === id ? [`${agent}: fallback ${at + 1}`] : [])),
    ]);
  }

  async function callable(id: string): Promise<Model | string> {
    try {
      return await models.get(id);
    } catch (error) {
      if (isFault(error, "invalid")) return error.message;
      throw error;
    }
  }

  async function list(): Promise<MethodResult<"models.list">> {
    const named = [
      ...agents.flatMap(({ model }) => [model.primary, ...model.fallbacks]),
      ...Object.keys(defaults.models),
    ];
    const cards = models.list(named);
    const uncapped = uncappedModels(config, models);
    const listed = await Promise.all(
      cards.map(
        async ({ id, api, contextWindow, maxTokens, input, reasoning, thinking, cost }): Promise<Listed> => {
          const found = await callable(id);
          return {
            id,
            alias: defaults.models[id]?.alias ?? null,
            api,
            trouble: typeof found === "string" ? found : null,
            contextWindow: typeof found === "string" ? contextWindow : found.contextWindow,
            maxTokens: typeof found === "string" ? maxTokens : found.maxTokens,
            vision: input.includes("image"),
            reasoning,
            thinking: [...thinkingLevelsOf({ thinking })],
            price: cost === undefined ? null : { ...cost },
            usedBy: usedBy(id),
            uncappedFor: uncapped.filter(({ model }) => model === id).map(({ agent }) => agent),
          };
        },
      ),
    );
    return { models: listed.toSorted((a, b) => b.usedBy.length - a.usedBy.length) };
  }

  async function test({
    id = agents[0]?.model.primary ?? "",
  }: MethodParams<"models.test">): Promise<MethodResult<"models.test">> {
    const ref =
      Object.entries(defaults.models).find(
        ([, { alias }]) => alias?.toLowerCase() === id.toLowerCase(),
      )?.[0] ?? id;
    return testModel(await models.get(ref), config, clock);
  }

  return { "models.list": list, "models.test": test };
}
