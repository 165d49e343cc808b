// Facts about well-known providers and models, for use without configuration; a config entry always wins.
// Sizes and prices are the providers' published ones where we know them. A family matches by its longest
// prefix, so dated versions fall under their family. A model in no family gets cautious sizes and no price.
import { thinkingLevels, type ThinkingLevel } from "@parley/protocol";
import type { ModelPrice } from "./price.ts";

const modelApis = [
  "openai-completions",
  "openai-responses",
  "anthropic-messages",
  "google-generative-ai",
  "ollama",
  "rehearsal",
] as const;
export type ModelApi = (typeof modelApis)[number];

export interface KnownProvider {
  readonly api: ModelApi;
  readonly baseUrl: string;
  /** True when it answers without an API key. */
  readonly keyless?: true;
}

export interface ModelFacts {
  readonly contextWindow: number;
  readonly maxTokens: number;
  readonly input: readonly ("text" | "image")[];
  readonly reasoning: boolean;
  /** The levels of thinking that it accepts, where they are not the usual ones. */
  readonly thinking?: readonly ThinkingLevel[];
  readonly cost?: ModelPrice;
}

const providers: { readonly [name: string]: KnownProvider } = {
  anthropic: { api: "anthropic-messages", baseUrl: "https://api.anthropic.com/v1" },
  openai: { api: "openai-responses", baseUrl: "https://api.openai.com/v1" },
  google: { api: "google-generative-ai", baseUrl: "https://generativelanguage.googleapis.com/v1beta" },
  openrouter: { api: "openai-completions", baseUrl: "https://openrouter.ai/api/v1" },
  deepseek: { api: "openai-completions", baseUrl: "https://api.deepseek.com/v1" },
  groq: { api: "openai-completions", baseUrl: "https://api.groq.com/openai/v1" },
  mistral: { api: "openai-completions", baseUrl: "https://api.mistral.ai/v1" },
  ollama: { api: "ollama", baseUrl: "http://127.0.0.1:11434", keyless: true },
  rehearsal: { api: "rehearsal", baseUrl: "", keyless: true },
};

const text = ["text"] as const;
const seeing = ["text", "image"] as const;
const claude = (input: number, output: number, maxTokens: number, reasoning = true): ModelFacts => ({
  contextWindow: 200_000,
  maxTokens,
  input: seeing,
  reasoning,
  // Anthropic's rule for five-minute caches: a read costs a tenth of the input price, a write a quarter more
  // than it.
  cost: { input, output, cacheRead: input / 10, cacheWrite: input * 1.25 },
});
const gpt = (
  contextWindow: number,
  maxTokens: number,
  reasoning: boolean,
  input: number,
  cacheRead: number,
  output: number,
): ModelFacts => ({
  contextWindow,
  maxTokens,
  input: seeing,
  reasoning,
  cost: { input, output, cacheRead, cacheWrite: input },
});

const openAiThinker = (
  contextWindow: number,
  maxTokens: number,
  thinking: readonly ThinkingLevel[],
): ModelFacts => ({
  contextWindow,
  maxTokens,
  input: seeing,
  reasoning: true,
  thinking,
});

/** Key: the beginning of a model id. */
const families: { readonly [prefix: string]: ModelFacts } = {
  "claude-opus-4-1": claude(15, 75, 32_000),
  "claude-opus-4-5": claude(5, 25, 64_000),
  "claude-sonnet-4": claude(3, 15, 64_000),
  "claude-haiku-4-5": claude(1, 5, 64_000),
  "claude-3-haiku": claude(0.25, 1.25, 4096, false),
  "gpt-5": gpt(400_000, 128_000, true, 1.25, 0.125, 10),
  "gpt-5-mini": gpt(400_000, 128_000, true, 0.25, 0.025, 2),
  "gpt-5-nano": gpt(400_000, 128_000, true, 0.05, 0.005, 0.4),
  "gpt-4.1": gpt(1_047_576, 32_768, false, 2, 0.5, 8),
  "gpt-4.1-mini": gpt(1_047_576, 32_768, false, 0.4, 0.1, 1.6),
  "gpt-4.1-nano": gpt(1_047_576, 32_768, false, 0.1, 0.025, 0.4),
  "gpt-4o": gpt(128_000, 16_384, false, 2.5, 1.25, 10),
  "gpt-4o-mini": gpt(128_000, 16_384, false, 0.15, 0.075, 0.6),
  "gemini-2.5-pro": gpt(1_048_576, 65_536, true, 1.25, 0.31, 10),
  "gemini-2.5-flash": gpt(1_048_576, 65_536, true, 0.3, 0.075, 2.5),
  "gemini-2.5-flash-lite": gpt(1_048_576, 65_536, true, 0.1, 0.025, 0.4),
  // They make pictures; an answer's tokens are those of its pictures.
  "gpt-image-1": gpt(32_000, 8192, false, 5, 1.25, 40),
  "gpt-image-1-mini": gpt(32_000, 8192, false, 2, 0.2, 8),
  "gpt-image-1.5": gpt(32_000, 8192, false, 5, 1.25, 32),
  "gemini-2.5-flash-image": gpt(32_768, 32_768, false, 0.3, 0.075, 30),
  // Sizes only, because we do not know their prices.
  claude: { contextWindow: 200_000, maxTokens: 64_000, input: seeing, reasoning: true },
  ...Object.fromEntries(
    ["claude-opus-4-7", "claude-opus-4-8", "claude-sonnet-5", "claude-opus-5"].map((family) => [
      family,
      { contextWindow: 200_000, maxTokens: 64_000, input: seeing, reasoning: true, thinking: thinkingLevels },
    ]),
  ),
  // OpenAI refuses an effort that a model does not accept. Its API reference lists them for each version.
  "gpt-5-codex": { ...gpt(400_000, 128_000, true, 1.25, 0.125, 10), thinking: ["low", "medium", "high"] },
  "gpt-5-pro": openAiThinker(400_000, 128_000, ["high"]),
  "gpt-5.": openAiThinker(400_000, 128_000, ["off", "low", "medium", "high"]),
  "gpt-5.1-codex": openAiThinker(400_000, 128_000, ["low", "medium", "high"]),
  ...Object.fromEntries(
    ["gpt-5.1-codex-max", "gpt-5.2-codex", "gpt-5.3-codex"].map((family) => [
      family,
      openAiThinker(400_000, 128_000, ["low", "medium", "high", "xhigh"]),
    ]),
  ),
  ...Object.fromEntries(
    ["gpt-5.2", "gpt-5.3", "gpt-5.4", "gpt-5.5", "gpt-5.6"].map((family) => [
      family,
      openAiThinker(400_000, 128_000, ["off", "low", "medium", "high", "xhigh"]),
    ]),
  ),
  gemini: { contextWindow: 1_048_576, maxTokens: 65_536, input: seeing, reasoning: true },
  o1: openAiThinker(200_000, 100_000, ["low", "medium", "high"]),
  o3: openAiThinker(200_000, 100_000, ["low", "medium", "high"]),
  "o4-mini": openAiThinker(200_000, 100_000, ["low", "medium", "high"]),
  "gpt-oss": { ...openAiThinker(131_072, 8192, ["low", "medium", "high"]), input: text },
  // It treats all levels below the highest as one.
  "deepseek-v4": {
    contextWindow: 128_000,
    maxTokens: 8192,
    input: text,
    reasoning: true,
    thinking: thinkingLevels,
  },
  // These models either think or do not.
  "glm-": { contextWindow: 128_000, maxTokens: 8192, input: text, reasoning: true, thinking: ["off", "low"] },
  "kimi-k2": {
    contextWindow: 256_000,
    maxTokens: 8192,
    input: text,
    reasoning: true,
    thinking: ["off", "low"],
  },
  deepseek: { contextWindow: 128_000, maxTokens: 8192, input: text, reasoning: false },
};

const unknown: ModelFacts = { contextWindow: 128_000, maxTokens: 8192, input: text, reasoning: false };

export function knownProvider(name: string): KnownProvider | undefined {
  return Object.hasOwn(providers, name) ? providers[name] : undefined;
}

/**
 * Facts for a model id as its provider spells it. A vendor before a slash (`anthropic/claude-…` at a proxy)
 * is ignored.
 */
export function knownModel(modelId: string): ModelFacts {
  const name = modelId.slice(modelId.lastIndexOf("/") + 1);
  const prefix = Object.keys(families)
    .filter((key) => name.startsWith(key))
    .toSorted((a, b) => b.length - a.length)[0];
  return (prefix === undefined ? undefined : families[prefix]) ?? unknown;
}
