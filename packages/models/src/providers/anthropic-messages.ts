// Anthropic's Messages API. Requests mark where to cache: the ends of the tools, of the stable zone and of
// the history, three of the four marks it allows. The volatile zone is a second system block behind the
// boundary.
import type { JsonObject } from "@parley/protocol";
import type { Model } from "../model.ts";
import { callOptions, promptOptions } from "../sdk/call-options.ts";
import type { ProviderOptions } from "../provider.ts";
import { anthropicParts } from "../wire/anthropic-parts.ts";
import { letterOfSdk } from "../wire/letter-of-sdk.ts";
import { sdkModel, type Driver } from "../sdk-model.ts";
import type { MendEvents } from "../sdk/events.ts";
import { isObject } from "../sdk/json.ts";
import { budgetWithin, mendedFetch } from "../sdk/thought-budget.ts";

const provider = "anthropic";
/** Cached for five minutes from the last use. */
const cacheMark = { [provider]: { cacheControl: { type: "ephemeral" } } };

export function anthropicMessages(options: ProviderOptions): Model {
  return sdkModel(options, anthropicDriver(options));
}

export function anthropicDriver(options: ProviderOptions): Driver {
  return {
    provider,
    mendEvents,
    wire: { letter: letterOfSdk, parts: anthropicParts },
    // It pauses a long turn of its own tools, and continues when given its words back.
    pauses: (raw) => raw === "pause_turn",
    wasCut: (raw) => raw === "compaction",
    async open(watched) {
      const { createAnthropic } = await import("@ai-sdk/anthropic");
      // A key is always given, even a placeholder, because the SDK would look for one in the environment and
      // send it to any address.
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
      // This API requires a limit; the model's own maximum never cuts an answer short.
      const limited = { ...request, maxTokens: request.maxTokens ?? options.facts.maxTokens };
      return callOptions(limited, options, { ...promptOptions(provider, options), cacheMark });
    },
  };
}

/** The smallest thinking budget that the API accepts. */
const leastBudgetTokens = 1024;

/**
 * The SDK adds the thinking budget to the answer's limit, and a server refuses a sum above the model's
 * maximum.
 */
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
 * With a thinking budget, the answer that the tool results belong to must begin with a thought that Anthropic
 * signed. An answer that another model wrote before it failed has none, so this request turns thinking off.
 * Models with adaptive thinking do not require it.
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

/** The SDK requires counts, which servers that imitate this API leave out; counts.ts estimates them. */
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
