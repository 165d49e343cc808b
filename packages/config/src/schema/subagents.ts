// agents.defaults.subagents: how far agents may hand work to others, and what those run with.
import { z } from "zod";
import { thinkingField } from "./models.ts";

export const allowAgents = z
  .array(z.string().min(1))
  .describe('Other agents that sub-agents may be, by id; "*" is all. Default: none but the agent itself.');

export const subagentsSchema = z
  .strictObject({
    allowAgents: allowAgents.default([]),
    maxSpawnDepth: z
      .number()
      .int()
      .min(1)
      .max(5)
      .default(5)
      .describe("Levels of sub-agents: 1 means that a sub-agent may not have any of its own."),
    maxChildrenPerAgent: z
      .number()
      .int()
      .min(1)
      .max(20)
      .default(5)
      .describe("Sub-agents of one session that run at the same time."),
    maxConcurrent: z
      .number()
      .int()
      .min(1)
      .max(64)
      .default(8)
      .describe("Turns of all sub-agents that run at the same time, in one process."),
    runTimeoutSeconds: z
      .number()
      .int()
      .min(0)
      .max(86_400)
      .default(0)
      .describe("Longest time of one turn of a sub-agent, in seconds; 0: agents.defaults.timeoutSeconds."),
    model: z
      .string()
      .min(1)
      .exactOptional()
      .describe("PROVIDER/MODEL or an alias. Default: the model of the agent."),
    thinking: thinkingField.describe("Default: that of the agent."),
  })
  .prefault({})
  .describe("Sub-agents.");
