// What sets the servers of OpenAI's chat completions apart: a row each for those that refuse, or need, what the others take. Each row is what
// the vendor's own reference says. A server without a row gets only what all of them understand. docs/models.md has the same table for people.
import { createHash } from "node:crypto";
import type { JsonObject, ThinkingLevel } from "@parley/protocol";
import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { ModelFacts } from "../known.ts";
import type { ProviderOptions } from "../provider.ts";

export type Effort = NonNullable<LanguageModelV4CallOptions["reasoning"]>;
type Fields = { readonly [field: string]: JsonObject | string };

export interface Asked {
  readonly effort: Effort;
  /** The model's own name in lower case, without a vendor before it. */
  readonly model: string;
  readonly facts: ModelFacts;
}

export interface Dialect {
  /**
   * How a model's own thoughts go back to it with the history. `none`: strict servers refuse the field. `beside calls`: every message with tool
   * calls must have them, also one that another model wrote.
   */
  readonly thoughts: "none" | "reasoning_content" | "beside calls" | "reasoning_details";
  readonly effort: (asked: Asked) => Fields;
  /** The ids of tool calls as it takes them. */
  readonly callId?: (id: string) => string;
  /** Words between a tool's result and a person's message, where one may not follow the other. */
  readonly afterTools?: string;
  /** `stream_options`, a field of OpenAI's. Default: sent. */
  readonly asksUsage?: false;
  readonly cacheKey?: true;
  /** The field for the answer's limit. Default: `max_tokens`. */
  readonly limit?: "max_completion_tokens";
}

/** Three efforts are what these servers have in common; others, and the word "none", only go to one that was declared to take them. */
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
  // Its own models that think refuse the field that all others know.
  limit: "max_completion_tokens",
};

const openrouter: Dialect = {
  thoughts: "reasoning_details",
  effort: ({ effort }) => ({ reasoning: { effort } }),
};

const groq: Dialect = {
  thoughts: "none",
  // Qwen thinks or does not: `default` and `none` are its only words.
  effort: (asked) =>
    asked.model.startsWith("qwen")
      ? { reasoningEffort: asked.effort === "none" ? "none" : "default" }
      : usualEffort(asked),
};

const mistral: Dialect = {
  thoughts: "none",
  // Magistral always thinks and takes no word about it.
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

/** By the name under which a provider is configured, and by where its server is. */
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

/** On a server that nobody knows, the model's family says what its template needs. */
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

/** Mistral takes ids of exactly nine letters or digits. The same id always becomes the same nine. */
function nineCharacters(id: string): string {
  return /^[a-zA-Z0-9]{9}$/.test(id) ? id : createHash("sha256").update(id).digest("hex").slice(0, 9);
}
