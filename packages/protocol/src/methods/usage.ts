// The control plane's methods for models and their usage.
import { z } from "zod";
import { thinkingLevels } from "../thinking.ts";

const amounts = {
  turns: z.number().int(),
  inputTokens: z.number().int(),
  outputTokens: z.number().int(),
  cacheReadTokens: z.number().int(),
  cacheWriteTokens: z.number().int(),
  /** US dollars of the calls whose price is known. */
  costUsd: z.number(),
  /** Tokens of models without a known price; `costUsd` does not include them. */
  unpricedTokens: z.number().int(),
};

/** One spend limit with the usage that counts towards it. */
const cap = z.object({
  agent: z.string(),
  over: z.enum(["day", "month"]),
  unit: z.enum(["usd", "tokens"]),
  used: z.number(),
  most: z.number(),
  /** When the limit resets, in words and with the time zone. */
  resets: z.string(),
});

const price = z.object({
  input: z.number(),
  output: z.number(),
  cacheRead: z.number().optional(),
  cacheWrite: z.number().optional(),
});

export const usageMethods = {
  usage: {
    scope: "read",
    sessions: "all",
    needs: "config and store",
    /** Covers the last `days` days, today included. */
    params: z.object({
      by: z.enum(["session", "agent", "channel", "person", "model", "day"]).default("agent"),
      days: z.number().int().min(1).max(62).default(30),
    }),
    result: z.object({
      from: z.string(),
      through: z.string(),
      timeZone: z.string(),
      /** Sorted by cost, the highest first; days in date order. */
      rows: z.array(z.object({ name: z.string(), ...amounts })),
      total: z.object(amounts),
      caps: z.array(cap),
    }),
  },
  "models.list": {
    scope: "read",
    sessions: "none",
    needs: "config",
    params: z.object({}),
    result: z.object({
      models: z.array(
        z.object({
          id: z.string(),
          alias: z.string().nullable(),
          /** Null for a model that cannot be called; `trouble` then says why. */
          api: z.string().nullable(),
          trouble: z.string().nullable(),
          contextWindow: z.number().int(),
          maxTokens: z.number().int(),
          vision: z.boolean(),
          reasoning: z.boolean(),
          thinking: z.array(z.enum(thinkingLevels)),
          /** US dollars per million tokens; null when no price is known. */
          price: price.nullable(),
          /** Agents that use it, for example `main: primary` or `main: fallback 1`. */
          usedBy: z.array(z.string()),
          /** Agents whose dollar limit cannot count this model, because its price is not known. */
          uncappedFor: z.array(z.string()),
        }),
      ),
    }),
  },
  /**
   * Makes small real calls with the configured thinking: an answer, a tool call, and an answer to the tool's
   * result. Default: the first agent's model.
   */
  "models.test": {
    scope: "admin",
    sessions: "none",
    needs: "config",
    params: z.object({ id: z.string().min(1).max(256).optional() }),
    result: z.object({
      id: z.string(),
      ok: z.boolean(),
      /** Why it failed, in the provider's words. */
      error: z.object({ kind: z.string(), message: z.string(), status: z.number().optional() }).nullable(),
      firstTokenMs: z.number().nullable(),
      totalMs: z.number(),
      /** True when it called the requested tool with the requested arguments. */
      toolCalling: z.boolean(),
      /** True when it went on after the tool's result; null when that was not tested. */
      roundTrip: z.boolean().nullable(),
      /** True when the agent that has this model may use any tool. */
      usesTools: z.boolean(),
      /**
       * `level` is the configured one; `works`: the provider accepted it; `shown`: the answer came with
       * thoughts.
       */
      thinking: z.object({ level: z.enum(thinkingLevels), works: z.boolean(), shown: z.boolean() }),
      text: z.string(),
      inputTokens: z.number().int(),
      outputTokens: z.number().int(),
      costUsd: z.number().nullable(),
    }),
  },
} as const;
