// Ollama's own API. Its compatible endpoint under /v1 does not take a context size and silently cuts long
// conversations, so it is used only where the address names it.
import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { Model, ModelRequest } from "../model.ts";
import { callOptions, promptOptions } from "../sdk/call-options.ts";
import { sdkModel } from "../sdk-model.ts";
import { chatBody } from "./ollama-request.ts";
import { chatParts } from "./ollama-stream.ts";
import { completionsDriver } from "./openai-completions.ts";
import type { ProviderOptions } from "../provider.ts";
import { Refused } from "../wire/refused.ts";

/** It sends no headers until the model is in memory, which takes minutes for a large one. */
const loadingMs = 300_000;
/** A person's own machine may write slowly, and costs nothing. */
const totalMs = 1_800_000;
const timers = { connectMs: loadingMs, firstTokenMs: loadingMs, totalMs } as const;

export function ollama(options: ProviderOptions): Model {
  if (options.baseUrl.endsWith("/v1")) return sdkModel(options, { ...completionsDriver(options), timers });
  const provider = "ollama";
  return sdkModel(options, {
    provider,
    timers,
    lines: "json",
    open: async (watched) => chat(options, watched),
    // It has no tool choice, and a model without tools answers in words.
    write: ({ toolChoice, tools, ...request }: ModelRequest) =>
      callOptions(
        { ...request, tools: toolChoice === "none" ? [] : tools },
        options,
        promptOptions(provider, options),
      ),
  });
}

function chat(
  { baseUrl, apiKey, headers, ...model }: ProviderOptions,
  watched: typeof fetch,
): LanguageModelV4 {
  return {
    specificationVersion: "v4",
    provider: "ollama",
    modelId: model.modelId,
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("answers are always streamed")),
    async doStream(call) {
      const response = await watched(`${baseUrl.replace(/\/api$/, "")}/api/chat`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
          ...headers,
        },
        body: JSON.stringify(chatBody(model, call)),
        signal: call.abortSignal ?? null,
      });
      if (!response.ok || response.body === null) {
        const text = await response.text();
        const { status, statusText } = response;
        throw new Refused({ status, statusText, headers: Object.fromEntries(response.headers) }, text);
      }
      return { stream: response.body.pipeThrough(chatParts()) };
    },
  };
}
