// Google's Generative Language API, which caches equal prefixes by itself. Gemini signs its tool calls and
// refuses a history without the signatures, so they travel as seals beside the calls.
import type { JsonObject } from "@parley/protocol";
import type { Model } from "../model.ts";
import { callOptions, promptOptions } from "../sdk/call-options.ts";
import type { ProviderOptions } from "../provider.ts";
import { sdkModel } from "../sdk-model.ts";
import { budgetWithin, mendedFetch } from "../sdk/thought-budget.ts";

const provider = "google";

export function google(options: ProviderOptions): Model {
  return sdkModel(options, {
    provider,
    wasCut: (raw) => raw !== "FINISH_REASON_UNSPECIFIED",
    async open(watched) {
      const { createGoogle } = await import("@ai-sdk/google");
      const gemini = createGoogle({
        baseURL: options.baseUrl,
        // Always given, because the SDK would take one from the environment and send it to any address.
        apiKey: options.apiKey ?? "none",
        headers: { ...options.headers },
        fetch: mendedFetch(watched, (body) => together(within(body))),
      });
      return gemini(options.modelId);
    },
    async write(request) {
      const written = await callOptions(request, options, promptOptions(provider, options));
      // Gemini shows its thoughts only when asked.
      const shown = options.facts.reasoning && request.showThoughts === true && request.thinking !== "off";
      return shown
        ? { ...written, providerOptions: { [provider]: { thinkingConfig: { includeThoughts: true } } } }
        : written;
    },
  });
}

/** Puts the answers to the calls of one turn side by side, with their pictures behind them. */
function together(body: JsonObject): JsonObject {
  const { contents } = body as { contents?: readonly { readonly parts?: readonly JsonObject[] }[] };
  if (contents === undefined) return body;
  const isAnswer = (part: JsonObject): number => ("functionResponse" in part ? 0 : 1);
  const ordered = contents.map((content) =>
    content.parts?.some((part) => isAnswer(part) === 0) === true
      ? { ...content, parts: content.parts.toSorted((a, b) => isAnswer(a) - isAnswer(b)) }
      : content,
  );
  return { ...body, contents: ordered as JsonObject[] };
}

/** The smallest thinking budget that Google's smallest model accepts. */
const leastBudgetTokens = 512;

function within(body: JsonObject): JsonObject {
  const { generationConfig: asked } = body as {
    generationConfig?: { maxOutputTokens?: number; thinkingConfig?: { thinkingBudget?: number } };
  };
  const budgetTokens = asked?.thinkingConfig?.thinkingBudget ?? 0;
  if (asked?.maxOutputTokens === undefined || budgetTokens <= leastBudgetTokens) return body;
  const thinkingBudget = budgetWithin(asked.maxOutputTokens, budgetTokens, leastBudgetTokens);
  return {
    ...body,
    generationConfig: { ...asked, thinkingConfig: { ...asked.thinkingConfig, thinkingBudget } },
  };
}
