// The chat completions API of OpenAI and of the many servers that imitate it. Their dialects differ
// (dialects.ts), and strict ones refuse unknown fields, so an unknown server gets only what all understand.
import type { Model } from "../model.ts";
import { cacheKeyOf } from "../sdk/cache-key.ts";
import { callOptions, promptOptions, signerOf } from "../sdk/call-options.ts";
import { type Driver, sdkModel } from "../sdk-model.ts";
import { mendCompletions, reasoningDetails } from "./completions-events.ts";
import { completionsPrompt } from "./completions-prompt.ts";
import { dialectOf, modelName } from "./dialects.ts";
import type { ProviderOptions } from "../provider.ts";
import { completionsLetter } from "../wire/completions-letter.ts";
import { completionsParts } from "../wire/completions-parts.ts";
import { callIds, wireHeaders } from "../wire/headers.ts";

export function openAiCompletions(options: ProviderOptions): Model {
  return sdkModel(options, completionsDriver(options));
}

export function completionsDriver(options: ProviderOptions): Driver {
  const provider = signerOf(options);
  const dialect = dialectOf(options);
  const { facts, modelId } = options;
  const letter = {
    url: `${options.baseUrl}/chat/completions`,
    headers: wireHeaders(options),
    modelId,
    provider,
    asksUsage: dialect.asksUsage ?? true,
  };
  const extractor = dialect.thoughts === "reasoning_details" ? reasoningDetails(provider) : undefined;
  return {
    provider,
    mendEvents: mendCompletions,
    wire: {
      letter: (written) => completionsLetter(letter, written),
      parts: () => completionsParts(provider, callIds(options.clock), extractor?.createStreamExtractor()),
    },
    async open(watched) {
      const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
      const compatible = createOpenAICompatible({
        name: provider,
        baseURL: options.baseUrl,
        includeUsage: letter.asksUsage,
        headers: { ...options.headers },
        fetch: watched,
        ...(options.apiKey === undefined ? {} : { apiKey: options.apiKey }),
        ...(extractor === undefined ? {} : { metadataExtractor: extractor }),
      });
      return compatible(modelId);
    },
    async write(request) {
      const { reasoning, maxOutputTokens, ...written } = await callOptions(
        request,
        options,
        promptOptions(provider, options),
      );
      const effort =
        reasoning === undefined
          ? {}
          : dialect.effort({ effort: reasoning, model: modelName(modelId), facts });
      const cacheKey = dialect.cacheKey === true ? { prompt_cache_key: cacheKeyOf(request, options) } : {};
      const limit = maxOutputTokens === undefined ? {} : { [dialect.limit ?? "max_tokens"]: maxOutputTokens };
      return {
        ...written,
        prompt: completionsPrompt(
          written.prompt,
          provider,
          dialect,
          reasoning !== undefined && reasoning !== "none",
        ),
        providerOptions: { [provider]: { ...cacheKey, ...limit, ...effort } },
      };
    },
  };
}
