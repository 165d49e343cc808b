// OpenAI's Responses API. Its cache works by itself on equal prefixes; the session's key routes a conversation to the machine that has it.
// Nothing is stored at OpenAI: reasoning comes back encrypted and is handed back with the history.
import type { Model } from "../model.ts";
import { callOptions, promptOptions } from "../sdk/call-options.ts";
import type { ProviderOptions } from "./provider.ts";
import { sdkModel } from "../sdk/sdk-model.ts";

const provider = "openai";
/** OpenAI refuses longer cache keys. */
export const cacheKeyChars = 64;

export function openAiResponses(options: ProviderOptions): Model {
  return sdkModel(options, {
    provider,
    async open(watched) {
      const { createOpenAI } = await import("@ai-sdk/openai");
      const openai = createOpenAI({
        baseURL: options.baseUrl,
        // Always given, or the SDK would take one from the environment and send it to any address.
        apiKey: options.apiKey ?? "none",
        headers: { ...options.headers },
        fetch: watched,
      });
      return openai.responses(options.modelId);
    },
    async write(request) {
      const written = await callOptions(request, options, promptOptions(provider, options));
      const own = {
        store: false,
        promptCacheKey: request.cacheKey.slice(-cacheKeyChars),
        // The SDK knows reasoning models by their names; the config may know better.
        ...(options.facts.reasoning ? { forceReasoning: true } : {}),
        // OpenAI writes summaries for verified organisations only and refuses the whole request of others: not asked for unless they are read.
        reasoningSummary: options.facts.reasoning && request.showThoughts === true ? "auto" : null,
      };
      return { ...written, providerOptions: { [provider]: own } };
    },
  });
}
