// agents.defaults.contextPruning, compaction, startupContext and contextLimits: how a long conversation fits
// a model's window.
import { z } from "zod";

const unitsMs: { readonly [unit: string]: number } = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const share = z.number().min(0).max(1);
const chars = z.number().int().min(0).max(1_000_000);
const globs = z.array(z.string().min(1)).default([]);

export const contextPruningSchema = z
  .strictObject({
    mode: z
      .enum(["off", "cache-ttl", "always"])
      .default("cache-ttl")
      .describe(
        'When old tool results are shortened in what the model is shown: "off" never, "cache-ttl" once the provider\'s prompt cache has expired or the window is full, "always" at every call.',
      ),
    ttl: z
      .string()
      .regex(/^\d{1,6}(?:s|m|h|d)$/, { error: 'a time is written like "5m" or "1h"' })
      .default("5m")
      .describe("How long the provider keeps a prompt after its last use."),
    keepLastAssistants: z
      .number()
      .int()
      .min(0)
      .max(100)
      .default(3)
      .describe("Results after the last so many answers stay whole."),
    softTrimRatio: share
      .default(0.3)
      .describe("Share of the window from which on long results are cut to their beginning and end."),
    hardClearRatio: share
      .default(0.5)
      .describe("Share of the window from which on results are replaced by a placeholder, oldest first."),
    minPrunableToolChars: chars
      .default(50_000)
      .describe("With less prunable text than this nothing is replaced."),
    softTrim: z
      .strictObject({
        maxChars: chars.default(4_000).describe("Longer results are cut."),
        headChars: chars.default(1_500).describe("Characters kept of the beginning."),
        tailChars: chars.default(1_500).describe("Characters kept of the end."),
      })
      .prefault({})
      .describe("Cutting."),
    hardClear: z
      .strictObject({
        enabled: z.boolean().default(true).describe("Whether results are replaced at all."),
        placeholder: z
          .string()
          .min(1)
          .max(500)
          .default("[Old tool result content cleared]")
          .describe("What stands in their place."),
      })
      .prefault({})
      .describe("Replacing."),
    tools: z
      .strictObject({
        allow: globs.describe(
          "Only results of these tools are touched; * stands for any characters. Empty: all.",
        ),
        deny: globs.describe("Results of these tools are never touched."),
      })
      .prefault({})
      .describe("Whose results are pruned."),
  })
  .prefault({})
  .transform(({ ttl, ...rest }) => ({
    ...rest,
    ttlMs: Number.parseInt(ttl, 10) * (unitsMs[ttl.slice(-1)] ?? 0),
  }))
  .describe("Pruning of old tool results. The transcript is never changed.");

export const compactionSchema = z
  .strictObject({
    mode: z
      .enum(["default", "safeguard"])
      .default("safeguard")
      .describe(
        '"safeguard" looks for the identifiers of the conversation in its summary and adds those that it lost.',
      ),
    reserveTokensFloor: z
      .number()
      .int()
      .min(0)
      .max(1_000_000)
      .default(20_000)
      .describe("Tokens of the window kept free for the answer; at most a quarter of the window."),
    keepRecentTokens: z
      .number()
      .int()
      .min(0)
      .max(1_000_000)
      .default(20_000)
      .describe("The newest so many tokens stay word for word."),
    identifierPolicy: z
      .enum(["strict", "off"])
      .default("strict")
      .describe("Whether the safeguard cares about identifiers."),
    memoryFlush: z
      .strictObject({
        enabled: z
          .boolean()
          .default(true)
          .describe(
            "Whether the agent may save notes in memory/ before a private conversation is compacted.",
          ),
        softThresholdTokens: z
          .number()
          .int()
          .min(0)
          .max(1_000_000)
          .default(4_000)
          .describe("How many tokens before the compaction; at most a tenth of the window."),
        forceFlushTranscriptBytes: z
          .number()
          .int()
          .min(1_000)
          .default(2_000_000)
          .describe("A conversation of so many bytes is flushed in any case."),
      })
      .prefault({})
      .describe("The silent turn before a compaction."),
    postCompactionSections: z
      .array(z.string().min(1).max(100))
      .max(20)
      .default(["Session Startup", "Red Lines"])
      .describe("Sections of AGENTS.md that are repeated with a summary, by their headings."),
  })
  .prefault({})
  .describe(
    "When the window fills up, the beginning of the conversation becomes a summary. The transcript is never changed.",
  );

export const startupContextSchema = z
  .strictObject({
    enabled: z
      .boolean()
      .default(true)
      .describe("Whether the first message after a bare /new or /reset brings recent daily notes along."),
    dailyMemoryDays: z.number().int().min(1).max(14).default(2).describe("Days, today included."),
    maxFileChars: z
      .number()
      .int()
      .min(1)
      .max(100_000)
      .default(1_200)
      .describe("Most characters of one note."),
    maxTotalChars: z
      .number()
      .int()
      .min(1)
      .max(100_000)
      .default(2_800)
      .describe("Most characters of all notes."),
  })
  .prefault({})
  .describe("Notes of recent days in a new private conversation.");

const toolResultMaxChars = z.number().int().min(500).max(1_000_000);
const postCompactionMaxChars = z.number().int().min(0).max(50_000);
const limits = {
  toolResult: "Most characters (bytes of UTF-8) of one tool result; the rest is kept in a file.",
  postCompaction: "Most characters of AGENTS.md repeated with a summary.",
};

export const contextLimitsSchema = z
  .strictObject({
    toolResultMaxChars: toolResultMaxChars.default(8_192).describe(limits.toolResult),
    postCompactionMaxChars: postCompactionMaxChars.default(1_800).describe(limits.postCompaction),
  })
  .prefault({})
  .describe("How much of other texts enters the context.");

/** What an agent's own entry says in place of the defaults. */
export const agentContextLimitsSchema = z
  .strictObject({
    toolResultMaxChars: toolResultMaxChars.exactOptional().describe(limits.toolResult),
    postCompactionMaxChars: postCompactionMaxChars.exactOptional().describe(limits.postCompaction),
  })
  .default({})
  .describe("In place of agents.defaults.contextLimits.");
