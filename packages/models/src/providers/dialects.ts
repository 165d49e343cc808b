// Differences between servers of OpenAI's chat completions: one row for each that refuses, or needs,
// something that others accept, taken from the vendor's own reference. A server without a row gets only
// fields that all understand. docs/models.md has the same table for people.
import { createHash } from "node:crypto";
import type { JsonObject, ThinkingLevel } from "@parley/protocol";
import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { ModelFacts } from "../known.ts";
import type { ProviderOptions } from "../provider.ts";

type Effort = NonNullable<LanguageModelV4CallOptions["reasoning"]>;
type Fields = { readonly [field: string]: JsonObject | string };

interface Asked {
  readonly effort: Effort;
  /** The model's own name in lower case, without a vendor in front. */
  readonly model: string;
  readonly facts: ModelFacts;
}

export interface Dialect {
  /**
   * How a model's thoughts go back to it with the history. `none`: strict servers refuse the field. `beside
   * calls`: every message with tool calls must have it, even one that another model wrote.
   */
  readonly thoughts: "none" | "reasoning_content" | "beside calls" | "reasoning_details";
  readonly effort: (asked: Asked) => Fields;
  /** Converts tool call ids to the form it accepts. */
  readonly callId?: (id: string) => string;
  /**
   * Text between a tool's result and a person's message, for servers that do not let one follow the other.
   */
  readonly afterTools?: string;
  /** False leaves out OpenAI's `stream_options`. Default: sent. */
  readonly asksUsage?: false;
  readonly cacheKey?: true;
  /** Name of the field for the answer's limit. Default: `max_tokens`. */
  readonly limit?: "max_completion_tokens";
}

/**
 * All these servers know three efforts. Others, and the word "none", go only to a model that is declared to
 * accept them.
 */
function usualEffort({ effort, facts }: Asked): Fields {
  if (effort === "none") return takes(facts, "off") ? { reasoningEffort: "none" } : {};
  return { reasoningEffort: effort === "minimal" && !takes(facts, "minimal") ? "low" : effort };
}

function thinkingSwitch({ effort }: Asked): Fields {
  return { thinking: { type: effort === "none" ? "disabled" : "enabled" } };
}

function takes({ thinking }: ModelFacts, level: ThinkingLevel): boolean {
  return thinking?.includes(level) === true;
}

const plain: Dialect = { thoughts: "none", effort: usualEffort };

const openai: Dialect = {
  thoughts: "none",
  effort: ({ effort, model, facts }) => {
    const isOff = effort === "none";
    return !isOff || /^gpt-(?:5\.|[6-9])/.test(model) || takes(facts, "off")
      ? { reasoningEffort: effort }
      : {};
  },
  cacheKey: true,
  // Its own thinking models refuse the field that all others know.
  limit: "max_completion_tokens",
};

const openrouter: Dialect = {
  thoughts: "reasoning_details",
  effort: ({ effort }) => ({ reasoning: { effort } }),
};

const groq: Dialect = {
  thoughts: "none",
  // Qwen either thinks or does not; `default` and `none` are its only words.
  effort: (asked) =>
    asked.model.startsWith("qwen")
      ? { reasoningEffort: asked.effort === "none" ? "none" : "default" }
      : usualEffort(asked),
};

const mistral: Dialect = {
  thoughts: "none",
  // Magistral always thinks and accepts no word about it.
  effort: (asked) => {
    if (asked.model.startsWith("magistral")) return {};
    return asked.facts.thinking === undefined
      ? { reasoningEffort: asked.effort === "none" ? "none" : "high" }
      : usualEffort(asked);
  },
  callId: nineCharacters,
  afterTools: "I have read the results.",
  asksUsage: false,
};

const deepseek: Dialect = {
  thoughts: "beside calls",
  effort: (asked) => {
    if (!asked.model.startsWith("deepseek-v4")) return usualEffort(asked);
    return asked.effort === "none"
      ? thinkingSwitch(asked)
      : { reasoningEffort: asked.effort === "xhigh" ? "max" : "high" };
  },
};

const moonshot: Dialect = { thoughts: "beside calls", effort: thinkingSwitch };
const zai: Dialect = { thoughts: "reasoning_content", effort: thinkingSwitch };

/** Matched by the provider's name in the config, and by its server's host. */
const vendors: readonly { readonly name: RegExp; readonly host: RegExp; readonly dialect: Dialect }[] = [
  { name: /^openai$/, host: /(^|\.)openai\.com$/, dialect: openai },
  { name: /^openrouter$/, host: /(^|\.)openrouter\.ai$/, dialect: openrouter },
  { name: /^groq$/, host: /(^|\.)groq\.com$/, dialect: groq },
  { name: /^mistral$/, host: /(^|\.)mistral\.ai$/, dialect: mistral },
  { name: /^deepseek$/, host: /(^|\.)deepseek\.com$/, dialect: deepseek },
  { name: /^(moonshot|kimi)$/, host: /(^|\.)moonshot\.(ai|cn)$/, dialect: moonshot },
  { name: /^(zai|z-ai|zhipu|bigmodel)$/, host: /(^|\.)(z\.ai|bigmodel\.cn)$/, dialect: zai },
  { name: /^cerebras$/, host: /(^|\.)cerebras\.ai$/, dialect: plain },
];

/** On an unknown server, the model's family decides what its template needs. */
const families: readonly { readonly model: RegExp; readonly dialect: Dialect }[] = [
  { model: /^deepseek-v4/, dialect: deepseek },
  { model: /^kimi-k2/, dialect: moonshot },
  { model: /^glm-/, dialect: zai },
  {
    model: /^(mistral|mixtral|ministral|magistral|codestral|devstral|pixtral)/,
    dialect: { ...plain, callId: nineCharacters },
  },
];

export function dialectOf({
  id,
  modelId,
  baseUrl,
}: Pick<ProviderOptions, "id" | "modelId" | "baseUrl">): Dialect {
  const name = id.slice(0, Math.max(id.indexOf("/"), 0));
  const { hostname } = new URL(baseUrl);
  const model = modelName(modelId);
  const vendor =
    vendors.find((each) => each.host.test(hostname)) ?? vendors.find((each) => each.name.test(name));
  return vendor?.dialect ?? families.find((each) => each.model.test(model))?.dialect ?? plain;
}

export function modelName(modelId: string): string {
  return modelId.slice(modelId.lastIndexOf("/") + 1).toLowerCase();
}

/** Mistral accepts ids of exactly nine letters or digits. The same id always becomes the same nine. */
function nineCharacters(id: string): string {
  return /^[a-zA-Z0-9]{9}$/.test(id) ? id : createHash("sha256").update(id).digest("hex").slice(0, 9);
}
