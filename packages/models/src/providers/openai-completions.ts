// The chat completions API of OpenAI and of the many servers that imitate it. Their dialects differ, so only what all understand is sent;
// the cache key goes to OpenAI alone, because strict servers refuse fields that they do not know.
import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { JsonObject, ThinkingLevel } from "@parley/protocol";
import type { Model } from "../model.ts";
import { callOptions, promptOptions } from "../sdk/call-options.ts";
import type { ProviderOptions } from "./provider.ts";
import { cacheKeyChars } from "./openai-responses.ts";
import { type Driver, sdkModel } from "../sdk/sdk-model.ts";

export function openAiCompletions(options: ProviderOptions): Model {
  return sdkModel(options, completionsDriver(options));
}

export function completionsDriver(options: ProviderOptions): Driver {
  // Signed thoughts belong to the provider that the config names; this API has no signatures of its own.
  const provider = options.id.slice(0, Math.max(options.id.indexOf("/"), 0)) || "compatible";
  const isOpenAi = new URL(options.baseUrl).hostname === "api.openai.com";
  return {
    provider,
    async open(watched) {
      const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
      const compatible = createOpenAICompatible({
        name: provider,
        baseURL: options.baseUrl,
        includeUsage: true,
        headers: { ...options.headers },
        fetch: watched,
        ...(options.apiKey === undefined ? {} : { apiKey: options.apiKey }),
      });
      return compatible(options.modelId);
    },
    async write(request) {
      const written = await callOptions(request, options, promptOptions(provider, options));
      const { reasoning, maxOutputTokens, ...plain } = written;
      const cacheKey = isOpenAi ? { prompt_cache_key: request.cacheKey.slice(-cacheKeyChars) } : {};
      // OpenAI's own models that think refuse the field that all others know.
      const limit = isOpenAi && maxOutputTokens !== undefined ? { max_completion_tokens: maxOutputTokens } : {};
      return {
        ...plain,
        ...(isOpenAi || maxOutputTokens === undefined ? {} : { maxOutputTokens }),
        providerOptions: { [provider]: { ...cacheKey, ...limit, ...effortFields(reasoning, options, isOpenAi) } },
      };
    },
  };
}

type Effort = LanguageModelV4CallOptions["reasoning"];

/** How the servers of this API are told to think. Some have switches of their own, which stand in the request beside the common fields. */
function effortFields(
  effort: Effort,
  { modelId, facts }: ProviderOptions,
  isOpenAi: boolean,
): { readonly [field: string]: JsonObject | string } {
  if (effort === undefined) return {};
  const name = modelId.slice(modelId.lastIndexOf("/") + 1).toLowerCase();
  const thinks = { thinking: { type: effort === "none" ? "disabled" : "enabled" } };
  if (/^(?:glm-|kimi-k2)/.test(name)) return thinks;
  if (name.startsWith("deepseek-v4")) {
    return effort === "none" ? thinks : { reasoningEffort: effort === "xhigh" ? "max" : "high" };
  }
  const takes = (level: ThinkingLevel): boolean => facts.thinking?.includes(level) === true;
  // Many servers refuse the word "none"; one that was not declared to take it is told nothing.
  if (effort === "none") return (isOpenAi && /^gpt-(?:5\.|[6-9])/.test(name)) || takes("off") ? { reasoningEffort: "none" } : {};
  // Three efforts are what these servers have in common.
  if (effort === "minimal" && !isOpenAi && !takes("minimal")) return { reasoningEffort: "low" };
  return { reasoningEffort: effort };
}
