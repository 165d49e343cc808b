// agents.defaults.memorySearch and what an agent sets in its place: how the agent's notes are searched. The
// names are those that users of this field know.
import { z } from "zod";
import { secretField } from "./fields.ts";

export const embedProviders = ["openai", "openai-compatible", "gemini", "voyage", "ollama"] as const;

export const memorySources = ["memory", "sessions"] as const;

export const memorySearchDefaults = {
  enabled: true,
  sources: ["memory"],
  provider: "none",
  query: {
    maxResults: 6,
    minScore: 0.35,
    hybrid: {
      enabled: true,
      vectorWeight: 0.7,
      textWeight: 0.3,
      candidateMultiplier: 4,
      mmr: { enabled: true, lambda: 0.7 },
      temporalDecay: { enabled: true, halfLifeDays: 30 },
    },
  },
  chunking: { tokens: 400, overlap: 80 },
  sync: { onSearch: true },
  upkeep: { enabled: false, at: "03:30", mostTokensPerDay: 100_000 },
} as const;

const { query, chunking, upkeep } = memorySearchDefaults;
const { mmr, temporalDecay } = query.hybrid;
const share = z.number().min(0).max(1);

const weight = (what: string, most: number) =>
  share.exactOptional().describe(`How much ${what} count where both are searched. Default: ${most}.`);

const hybridSchema = z.strictObject({
  enabled: z
    .boolean()
    .exactOptional()
    .describe("Whether meaning is searched beside words, where a provider is set. Default: true."),
  vectorWeight: weight("the scores of meaning", query.hybrid.vectorWeight),
  textWeight: weight("the scores of words", query.hybrid.textWeight),
  candidateMultiplier: z
    .number()
    .min(1)
    .max(20)
    .exactOptional()
    .describe(
      `Candidates that are ranked, as a multiple of maxResults. Default: ${query.hybrid.candidateMultiplier}.`,
    ),
  mmr: z
    .strictObject({
      enabled: z
        .boolean()
        .exactOptional()
        .describe("Whether passages that say the same as a better one give way. Default: true."),
      lambda: share
        .exactOptional()
        .describe(`1 looks at the score alone, 0 at the difference alone. Default: ${mmr.lambda}.`),
    })
    .exactOptional()
    .describe("Variety among the results."),
  temporalDecay: z
    .strictObject({
      enabled: z
        .boolean()
        .exactOptional()
        .describe("Whether older daily notes weigh less; files without a date never do. Default: true."),
      halfLifeDays: z
        .number()
        .min(1)
        .max(3650)
        .exactOptional()
        .describe(`Days after which a daily note weighs half. Default: ${temporalDecay.halfLifeDays}.`),
    })
    .exactOptional()
    .describe("Recency."),
});

export const memorySearchSchema = z.strictObject({
  enabled: z
    .boolean()
    .exactOptional()
    .describe("Whether the agent has memory_search and memory_get. Default: true."),
  sources: z
    .array(z.enum(memorySources))
    .min(1)
    .exactOptional()
    .describe(
      'What is searched: "memory" (MEMORY.md, USER.md and memory/) and "sessions" (what was said in this session, and in private in the other private sessions of the same person). Default: ["memory"].',
    ),
  provider: z
    .enum(["none", ...embedProviders])
    .exactOptional()
    .describe(
      'The service that finds meaning: passages are sent to it. "none" searches by words alone, without any model. Default: none.',
    ),
  model: z
    .string()
    .min(1)
    .exactOptional()
    .describe("Its model. Default: the provider's usual one; openai-compatible has none."),
  remote: z
    .strictObject({
      baseUrl: z
        .string()
        .regex(/^https?:\/\/\S+$/, { error: "not an http(s) address" })
        .exactOptional()
        .describe("Address of the service. Default: the provider's own, or that of models.providers."),
      apiKey: secretField(
        "Key of the service. Default: that of models.providers; VOYAGE_API_KEY for voyage at its own address.",
      ).exactOptional(),
    })
    .exactOptional()
    .describe("Where the service is."),
  query: z
    .strictObject({
      maxResults: z
        .number()
        .int()
        .min(1)
        .max(50)
        .exactOptional()
        .describe(`Most results of one search. Default: ${query.maxResults}.`),
      minScore: share
        .exactOptional()
        .describe(
          `Results below it are left out, but for those with the words asked for when nothing else is found. Default: ${query.minScore}.`,
        ),
      hybrid: hybridSchema.exactOptional().describe("How results are ranked."),
    })
    .exactOptional()
    .describe("What a search returns."),
  chunking: z
    .strictObject({
      tokens: z
        .number()
        .int()
        .min(50)
        .max(4_000)
        .exactOptional()
        .describe(`About how many tokens a passage has. Default: ${chunking.tokens}.`),
      overlap: z
        .number()
        .int()
        .min(0)
        .max(1_000)
        .exactOptional()
        .describe(
          `About how many of them are repeated in the next one; at most half. Default: ${chunking.overlap}.`,
        ),
    })
    .exactOptional()
    .describe("How notes are cut into passages."),
  sync: z
    .strictObject({
      onSearch: z
        .boolean()
        .exactOptional()
        .describe(
          "Whether every search looks at the files first and takes up what changed. Without it notes are taken up by `parley memory reindex` alone. Default: true.",
        ),
    })
    .exactOptional()
    .describe("When the index is brought up to date."),
  upkeep: z
    .strictObject({
      enabled: z
        .boolean()
        .exactOptional()
        .describe(
          "Whether the agent looks each night for notes that repeat or contradict each other, and proposes changes to the owners, who accept or refuse them. Default: false.",
        ),
      at: z
        .string()
        .regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, { error: 'not a time of day such as "03:30"' })
        .exactOptional()
        .describe(`Time of day, in cron.timezone or the user's zone. Default: ${upkeep.at}.`),
      model: z
        .string()
        .min(1)
        .exactOptional()
        .describe("The model that looks, as agents.defaults.model names one. Default: the agent's own."),
      mostTokensPerDay: z
        .number()
        .int()
        .min(1_000)
        .exactOptional()
        .describe(
          `Tokens that it may use within a day, beside the agent's spending limits. Default: ${upkeep.mostTokensPerDay}.`,
        ),
    })
    .exactOptional()
    .describe("Nightly upkeep of the notes (docs/memory.md)."),
});
