// Anthropic's Messages API. It must be told where to cache: at the end of the tools, of the stable zone and of the history, three of
// the four marks it allows. The volatile zone is a second system block behind the boundary.
import type { JsonObject } from "@parley/protocol";
import type { Model } from "../model.ts";
import { callOptions, promptOptions } from "../sdk/call-options.ts";
import type { ProviderOptions } from "../provider.ts";
import { sdkModel } from "../sdk/sdk-model.ts";
import type { MendEvents } from "../sdk/events.ts";
import { isObject } from "../sdk/json.ts";
import { budgetWithin, mendedFetch } from "../sdk/thought-budget.ts";

const provider = "anthropic";
/** Kept for five minutes from the last use. */
const cacheMark = { [provider]: { cacheControl: { type: "ephemeral" } } };

export function anthropicMessages(options: ProviderOptions): Model {
  return sdkModel(options, {
    provider,
    mendEvents,
    // A long turn of its own tools: it is handed its words back and goes on.
    pauses: (raw) => raw === "pause_turn",
    wasCut: (raw) => raw === "compaction",
    async open(watched) {
      const { createAnthropic } = await import("@ai-sdk/anthropic");
      // A key is always given, if only a word: the SDK would look for one in the environment and send it to any address.
      const anthropic = createAnthropic({
        baseURL: options.baseUrl,
        apiKey: options.apiKey ?? "none",
        headers: { ...options.headers },
        fetch: options.facts.reasoning
          ? mendedFetch(watched, (body) => within(options.facts.maxTokens, answerable(body)))
          : watched,
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
  const { max_tokens: asked, thinking } = body as {
    max_tokens?: number;
    thinking?: { budget_tokens?: number };
  };
  if (asked === undefined || asked <= maxTokens) return body;
  const limited = { ...body, max_tokens: maxTokens };
  if (thinking?.budget_tokens === undefined) return limited;
  const budgetTokens = budgetWithin(maxTokens, thinking.budget_tokens, leastBudgetTokens);
  return {
    ...limited,
    thinking: budgetTokens < maxTokens ? { ...thinking, budget_tokens: budgetTokens } : { type: "disabled" },
  };
}

/**
 * With a budget for thoughts, the answer whose tool results come now must begin with a thought that Anthropic signed. One that another model wrote,
 * before it failed, has none: for that request thinking is off. Models that adapt their thinking do not ask for it.
 */
function answerable(body: JsonObject): JsonObject {
  const { thinking, messages } = body as {
    thinking?: { type?: string };
    messages?: readonly { role?: string; content?: unknown }[];
  };
  if (thinking?.type !== "enabled" || !blocksOf(messages?.at(-1)).includes("tool_result")) return body;
  const [first] = blocksOf(messages?.findLast(({ role }) => role === "assistant"));
  return first === "thinking" || first === "redacted_thinking"
    ? body
    : { ...body, thinking: { type: "disabled" } };
}

function blocksOf(message: { readonly content?: unknown } | undefined): readonly unknown[] {
  return Array.isArray(message?.content)
    ? message.content.map((block: unknown) => (isObject(block) ? block["type"] : null))
    : [];
}

/** The SDK insists on counts; servers that imitate this API leave them out. What they come to is estimated (counts.ts). */
const mendEvents: MendEvents = () => ({
  event(event) {
    const { type, message, usage } = event;
    const none = { input_tokens: 0, output_tokens: 0 };
    if (type === "message_start" && isObject(message))
      return { ...event, message: { ...message, usage: filled(none, message["usage"]) } };
    if (type === "message_delta") return { ...event, usage: filled({ output_tokens: 0 }, usage) };
    return type === "message" ? { ...event, usage: filled(none, usage) } : event;
  },
});

function filled(none: JsonObject, usage: JsonObject[string] | undefined): JsonObject {
  return { ...none, ...(isObject(usage) ? usage : {}) };
}
