// The chat completions API of OpenAI and of the many servers that imitate it. Their dialects differ, so only what all understand is sent;
// the cache key goes to OpenAI alone, because strict servers refuse fields that they do not know.
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
    async open(fetchOnce) {
      const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
      const compatible = createOpenAICompatible({
        name: provider,
        baseURL: options.baseUrl,
        includeUsage: true,
        headers: { ...options.headers },
        fetch: fetchOnce,
        ...(options.apiKey === undefined ? {} : { apiKey: options.apiKey }),
      });
      return compatible(options.modelId);
    },
    async write(request) {
      const written = await callOptions(request, options, promptOptions(provider, options));
      const { reasoning } = written;
      const cacheKey = isOpenAi ? { prompt_cache_key: request.cacheKey.slice(-cacheKeyChars) } : {};
      return {
        ...written,
        // Three efforts are what these servers have in common.
        ...(reasoning === "minimal" ? { reasoning: "low" } : reasoning === "xhigh" ? { reasoning: "high" } : {}),
        providerOptions: { [provider]: cacheKey },
      };
    },
  };
}
