// Anthropic's Messages API. It must be told where to cache: at the end of the tools, of the stable zone and of the history, three of
// the four marks it allows. The volatile zone is a second system block behind the boundary.
import type { JsonObject } from "@parley/protocol";
import type { Model } from "../model.ts";
import { callOptions, promptOptions } from "../sdk/call-options.ts";
import type { ProviderOptions } from "./provider.ts";
import { sdkModel } from "../sdk/sdk-model.ts";
import { budgetWithin, mendedFetch } from "../sdk/thought-budget.ts";

const provider = "anthropic";
/** Kept for five minutes from the last use. */
const cacheMark = { [provider]: { cacheControl: { type: "ephemeral" } } };

export function anthropicMessages(options: ProviderOptions): Model {
  return sdkModel(options, {
    provider,
    async open(watched) {
      const { createAnthropic } = await import("@ai-sdk/anthropic");
      // A key is always given, if only a word: the SDK would look for one in the environment and send it to any address.
      const anthropic = createAnthropic({
        baseURL: options.baseUrl,
        apiKey: options.apiKey ?? "none",
        headers: { ...options.headers },
        fetch: options.facts.reasoning ? mendedFetch(watched, (body) => within(options.facts.maxTokens, body)) : watched,
      });
      return anthropic(options.modelId);
    },
    async write(request) {
      // This API insists on a limit; the model's own is the one that never cuts an answer short.
      const limited = { ...request, maxTokens: request.maxTokens ?? options.facts.maxTokens };
      return callOptions(limited, options, { ...promptOptions(provider, options), cacheMark });
    },
  });
}

/** No budget for thoughts may be smaller. */
const leastBudgetTokens = 1024;

/** The SDK adds the budget of the thoughts to the limit of the answer: a server refuses more than its model can give in one. */
function within(maxTokens: number, body: JsonObject): JsonObject {
  const { max_tokens: asked, thinking } = body as { max_tokens?: number; thinking?: { budget_tokens?: number } };
  if (asked === undefined || asked <= maxTokens) return body;
  const limited = { ...body, max_tokens: maxTokens };
  if (thinking?.budget_tokens === undefined) return limited;
  const budgetTokens = budgetWithin(maxTokens, thinking.budget_tokens, leastBudgetTokens);
  return { ...limited, thinking: budgetTokens < maxTokens ? { ...thinking, budget_tokens: budgetTokens } : { type: "disabled" } };
}
