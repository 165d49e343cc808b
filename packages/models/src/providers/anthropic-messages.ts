// Anthropic's Messages API. It must be told where to cache: at the end of the tools, of the stable zone and of the history, three of
// the four marks it allows. The volatile zone is a second system block behind the boundary.
import type { Model } from "../model.ts";
import { callOptions, promptOptions } from "../sdk/call-options.ts";
import type { ProviderOptions } from "./provider.ts";
import { sdkModel } from "../sdk/sdk-model.ts";

const provider = "anthropic";
/** Kept for five minutes from the last use. */
const cacheMark = { [provider]: { cacheControl: { type: "ephemeral" } } };

export function anthropicMessages(options: ProviderOptions): Model {
  return sdkModel(options, {
    provider,
    async open(fetchOnce) {
      const { createAnthropic } = await import("@ai-sdk/anthropic");
      // A key is always given, if only a word: the SDK would look for one in the environment and send it to any address.
      const anthropic = createAnthropic({
        baseURL: options.baseUrl,
        apiKey: options.apiKey ?? "none",
        headers: { ...options.headers },
        fetch: fetchOnce,
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
