// The control plane's methods about models and what they used.
import { z } from "zod";
import { thinkingLevels } from "./thinking.ts";

const amounts = {
  turns: z.number().int(),
  inputTokens: z.number().int(),
  outputTokens: z.number().int(),
  cacheReadTokens: z.number().int(),
  cacheWriteTokens: z.number().int(),
  /** Of what has a price. */
  costUsd: z.number(),
  /** Tokens of models without a known price; they are in no dollars. */
  unpricedTokens: z.number().int(),
};

/** One cap with what counts against it. */
const cap = z.object({
  agent: z.string(),
  over: z.enum(["day", "month"]),
  unit: z.enum(["usd", "tokens"]),
  used: z.number(),
  most: z.number(),
  /** In words, with the time zone. */
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
    /** The last `days` days, today included. */
    params: z.object({
      by: z.enum(["session", "agent", "channel", "person", "model", "day"]).default("agent"),
      days: z.number().int().min(1).max(62).default(30),
    }),
    result: z.object({
      from: z.string(),
      through: z.string(),
      timeZone: z.string(),
      /** The costliest first; days in their order. */
      rows: z.array(z.object({ name: z.string(), ...amounts })),
      total: z.object(amounts),
      caps: z.array(cap),
    }),
  },
  "models.list": {
    scope: "read",
    sessions: "none",
    params: z.object({}),
    result: z.object({
      models: z.array(
        z.object({
          id: z.string(),
          alias: z.string().nullable(),
          /** Null for a model that cannot be called; `trouble` says why. */
          api: z.string().nullable(),
          trouble: z.string().nullable(),
          contextWindow: z.number().int(),
          maxTokens: z.number().int(),
          vision: z.boolean(),
          reasoning: z.boolean(),
          thinking: z.array(z.enum(thinkingLevels)),
          /** US dollars per million tokens; null where none is known. */
          price: price.nullable(),
          /** `main: primary`, `main: fallback 1`. */
          usedBy: z.array(z.string()),
          /** Agents whose limit in dollars cannot hold it, because its price is not known. */
          uncappedFor: z.array(z.string()),
        }),
      ),
    }),
  },
  /** Small real calls: with the configured thinking, a call of a tool, and what follows its result. Without an id the first agent's model is asked. */
  "models.test": {
    scope: "admin",
    sessions: "none",
    params: z.object({ id: z.string().min(1).max(256).optional() }),
    result: z.object({
      id: z.string(),
      ok: z.boolean(),
      /** Why it failed, in the provider's words. */
      error: z.object({ kind: z.string(), message: z.string(), status: z.number().optional() }).nullable(),
      firstTokenMs: z.number().nullable(),
      totalMs: z.number(),
      /** It called the tool that it was told to call, with the arguments that it was told. */
      toolCalling: z.boolean(),
      /** It went on with the tool's result. Null where it was not asked to. */
      roundTrip: z.boolean().nullable(),
      /** Whether the agent that has it may use any tool at all. */
      usesTools: z.boolean(),
      /** The level that the config gives it; `works`: it was taken. `shown`: thoughts came along. */
      thinking: z.object({ level: z.enum(thinkingLevels), works: z.boolean(), shown: z.boolean() }),
      text: z.string(),
      inputTokens: z.number().int(),
      outputTokens: z.number().int(),
      costUsd: z.number().nullable(),
    }),
  },
} as const;
