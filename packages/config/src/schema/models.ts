// models.*: providers and what their models can do. Facts left out are filled from what the models package
// knows.
import { parseThinkingLevel, reasoningLevels, thinkingLevels } from "@parley/protocol";
import { z } from "zod";
import { modelRef, secretField } from "./fields.ts";

const modelApis = [
  "openai-completions",
  "openai-responses",
  "anthropic-messages",
  "google-generative-ai",
  "google",
  "ollama",
] as const;

const price = (what: string) => z.number().nonnegative().describe(`US dollars per million ${what}.`);

const modelEntry = z.strictObject({
  id: z.string().min(1).describe("The model's id as the provider spells it."),
  contextWindow: z
    .number()
    .int()
    .positive()
    .exactOptional()
    .describe("Tokens that fit into one request with its answer."),
  maxTokens: z
    .number()
    .int()
    .positive()
    .exactOptional()
    .describe("Most tokens of one answer, thoughts included; sent with every request where it is set."),
  input: z
    .array(z.enum(["text", "image"]))
    .exactOptional()
    .describe("What the model can read."),
  reasoning: z.boolean().exactOptional().describe("Whether the model thinks before it answers."),
  compat: z
    .strictObject({
      supportedReasoningEfforts: z
        .array(z.enum(["none", "minimal", "low", "medium", "high", "xhigh", "max"]))
        .exactOptional()
        .describe(
          "The efforts that the server takes; other levels of /think are refused. Default: what is known about the model.",
        ),
    })
    .exactOptional()
    .describe("Where a server differs from what is known about the model."),
  cost: z
    .strictObject({
      input: price("input tokens"),
      output: price("output tokens"),
      cacheRead: price("tokens read from the cache; default: the input price").exactOptional(),
      cacheWrite: price("tokens written to the cache; default: the input price").exactOptional(),
      image: z
        .number()
        .nonnegative()
        .exactOptional()
        .describe("US dollars of one image, for a model that makes them. Default: by its tokens."),
    })
    .exactOptional()
    .describe("Prices. Without them usage is counted in tokens only."),
});

const seconds = (what: string) => z.number().positive().max(3600).exactOptional().describe(what);

const provider = z.strictObject({
  api: z
    .enum(modelApis)
    .transform((api) => (api === "google" ? "google-generative-ai" : api))
    .exactOptional()
    .describe("How the provider is spoken to; may be left out for well-known providers."),
  baseUrl: z
    .url({ protocol: /^https?$/, error: "must be an http or https URL" })
    .exactOptional()
    .describe("Root of the API; may be left out for well-known providers."),
  apiKey: secretField("The API key.").exactOptional(),
  headers: z
    .record(
      z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, { error: "not a header's name" }),
      secretField("A header."),
    )
    .exactOptional()
    .describe("Sent with every request."),
  timers: z
    .strictObject({
      connectSeconds: seconds("From the request to the response's headers. Default 10; 300 for ollama."),
      firstTokenSeconds: seconds(
        "From the headers to the first word, thought or tool call. Default 120; 300 for ollama.",
      ),
      idleSeconds: seconds("Between two pieces of an answer. Default 60."),
      totalSeconds: seconds("From the request to the end of the answer. Default 600; 1800 for ollama."),
    })
    .exactOptional()
    .describe("How long a silent server is waited for."),
  models: z
    .array(modelEntry)
    .default([])
    .describe("The models that may be used. Empty: any id, with the facts known about it."),
});

export const modelsSchema = z
  .strictObject({
    providers: z
      .record(
        z.string().regex(/^[a-z0-9][a-z0-9._-]{0,63}$/i, {
          error: "a provider's name has letters, digits, dot, dash and underscore",
        }),
        provider,
      )
      .default({})
      .describe(
        "Providers by name. openai, anthropic and google appear by themselves when their API key is in the environment.",
      ),
  })
  .prefault({})
  .describe("Language models.");

/** A lone string is the primary model. */
export const modelChoice = z
  .union(
    [
      modelRef,
      z.strictObject({
        primary: modelRef.exactOptional(),
        fallbacks: z.array(modelRef).default([]).describe("Tried in this order when the primary fails."),
      }),
    ],
    {
      error: 'a model is "PROVIDER/MODEL" or { primary: "PROVIDER/MODEL", fallbacks: […] }',
    },
  )
  .transform((choice) => (typeof choice === "string" ? { primary: choice, fallbacks: [] } : choice));

export const thinkingField = z
  .string()
  .transform((word, context) => {
    const level = parseThinkingLevel(word);
    if (level !== null) return level;
    context.addIssue({
      code: "custom",
      message: `"${word}" is no level of thinking`,
      params: { fix: `Use one of: ${thinkingLevels.join(", ")}` },
    });
    return z.NEVER;
  })
  .exactOptional();

export const reasoningField = z.enum(reasoningLevels).exactOptional();

/** What /model offers. */
export const modelsBlock = z
  .record(
    modelRef,
    z.strictObject({
      alias: z
        .string()
        .regex(/^[a-z0-9][a-z0-9._-]{0,31}$/i, {
          error: "an alias has letters, digits, dot, dash and underscore, at most 32",
        })
        .exactOptional()
        .describe("A short name for /model."),
      params: z
        .strictObject({
          thinking: thinkingField.describe(
            "How much this model thinks unless the agent or the session says otherwise.",
          ),
        })
        .exactOptional()
        .describe("Settings of this model."),
    }),
  )
  .default({})
  .describe(
    "Models that people may choose with /model, with their short names. Empty: every declared model.",
  );

const dollars = (of: string) =>
  z.number().nonnegative().exactOptional().describe(`Most US dollars of one ${of}.`);
const tokens = (of: string) =>
  z.number().int().nonnegative().exactOptional().describe(`Most tokens of one ${of}, in and out.`);

/** Checked before each model call. Days and months are those of `agents.defaults.userTimezone`. */
export const spendField = z
  .strictObject({
    dayUsd: dollars("day"),
    monthUsd: dollars("month"),
    dayTokens: tokens("day"),
    monthTokens: tokens("month"),
  })
  .exactOptional()
  .describe("What one agent may use. A model without a known price counts in tokens only.");
