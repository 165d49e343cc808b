// OpenAI's Responses API, which caches equal prefixes by itself; the session's key routes a conversation to
// the machine that has its cache. OpenAI stores nothing: reasoning comes back encrypted and is returned with
// the history.
import type { JsonObject } from "@parley/protocol";
import type { Model } from "../model.ts";
import { cacheKeyOf } from "../sdk/cache-key.ts";
import { callOptions, promptOptions } from "../sdk/call-options.ts";
import type { ProviderOptions } from "../provider.ts";
import type { MendEvents } from "../sdk/events.ts";
import { isObject } from "../sdk/json.ts";
import { sdkModel } from "../sdk-model.ts";

const provider = "openai";

export function openAiResponses(options: ProviderOptions): Model {
  return sdkModel(options, {
    provider,
    mendEvents,
    async open(watched) {
      const { createOpenAI } = await import("@ai-sdk/openai");
      const openai = createOpenAI({
        baseURL: options.baseUrl,
        // Always given, because the SDK would take one from the environment and send it to any address.
        apiKey: options.apiKey ?? "none",
        headers: { ...options.headers },
        fetch: watched,
      });
      return openai.responses(options.modelId);
    },
    async write(request) {
      const written = await callOptions(request, options, promptOptions(provider, options));
      const isRead = options.facts.reasoning && request.showThoughts === true && request.thinking !== "off";
      const own = {
        store: false,
        promptCacheKey: cacheKeyOf(request, options),
        // The SDK knows reasoning models by name, but the config may know more.
        ...(options.facts.reasoning ? { forceReasoning: true } : {}),
        // OpenAI writes summaries only for verified organisations and refuses the whole request of others, so
        // they are asked for only when people read them.
        reasoningSummary: isRead ? "auto" : null,
      };
      return { ...written, providerOptions: { [provider]: own } };
    },
  });
}

/** Where there are counts, the SDK requires two of them; counts.ts estimates missing ones. */
const mendEvents: MendEvents = () => {
  const filled = <Carrier extends JsonObject>(carrier: Carrier): Carrier =>
    isObject(carrier["usage"])
      ? { ...carrier, usage: { input_tokens: 0, output_tokens: 0, ...carrier["usage"] } }
      : carrier;
  return {
    event: (event) =>
      isObject(event["response"]) ? { ...event, response: filled(event["response"]) } : filled(event),
  };
};
