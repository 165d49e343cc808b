// models.*: providers and what their models can do. Facts left out are filled from what the models package knows.
import { z } from "zod";
import { modelRef, secretField } from "./fields.ts";

const modelApis = ["openai-completions", "openai-responses", "anthropic-messages", "google-generative-ai", "google", "ollama"] as const;

const price = (what: string) => z.number().nonnegative().describe(`US dollars per million ${what}.`);

const modelEntry = z.strictObject({
  id: z.string().min(1).describe("The model's id as the provider spells it."),
  contextWindow: z.number().int().positive().exactOptional().describe("Tokens that fit into one request with its answer."),
  maxTokens: z.number().int().positive().exactOptional().describe("Most tokens of one answer."),
  input: z
    .array(z.enum(["text", "image"]))
    .exactOptional()
    .describe("What the model can read."),
  reasoning: z.boolean().exactOptional().describe("Whether the model thinks before it answers."),
  cost: z
    .strictObject({
      input: price("input tokens"),
      output: price("output tokens"),
      cacheRead: price("tokens read from the cache; default: the input price").exactOptional(),
      cacheWrite: price("tokens written to the cache; default: the input price").exactOptional(),
    })
    .exactOptional()
    .describe("Prices. Without them usage is counted in tokens only."),
});

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
  models: z.array(modelEntry).default([]).describe("The models that may be used. Empty: any id, with the facts known about it."),
});

export const modelsSchema = z
  .strictObject({
    providers: z
      .record(
        z.string().regex(/^[a-z0-9][a-z0-9._-]{0,63}$/i, { error: "a provider's name has letters, digits, dot, dash and underscore" }),
        provider,
      )
      .default({})
      .describe("Providers by name. openai, anthropic and google appear by themselves when their API key is in the environment."),
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
