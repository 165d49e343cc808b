// agents.*: defaults for all agents and the list of them.
import { z } from "zod";
import {
  agentContextLimitsSchema,
  compactionSchema,
  contextLimitsSchema,
  contextPruningSchema,
  startupContextSchema,
} from "./context.ts";
import { agentName, timeZone } from "./fields.ts";
import { modelsBlock, modelChoice, reasoningField, spendField, thinkingField } from "./models.ts";
import { memorySearchSchema } from "./memory.ts";
import { agentHeartbeatSchema, heartbeatSchema } from "./heartbeat.ts";
import { silentReplySchema } from "./prompt.ts";
import { skillNames } from "./skills.ts";
import { allowAgents, subagentsSchema } from "./subagents.ts";
import { agentToolsSchema, sandboxSchema } from "./tools.ts";

const defaults = z
  .strictObject({
    workspace: z
      .string()
      .min(1)
      .exactOptional()
      .describe("Folder of the agent's files. Default: workspace/ in the state folder."),
    model: modelChoice
      .exactOptional()
      .describe("Default: a model of the first provider there is, else rehearsal/rehearsal."),
    imageModel: modelChoice
      .exactOptional()
      .describe(
        "Model that looks at pictures for models that do not see, by the tool image. Absent: they are told that there is a picture.",
      ),
    imageGenerationModel: modelChoice
      .exactOptional()
      .describe(
        "Model that makes pictures, by the tool image_generate. Default: gpt-image-1 or gemini-2.5-flash-image, where models.providers has the key.",
      ),
    models: modelsBlock,
    thinkingDefault: thinkingField.describe(
      "How much models think: off, minimal, low, medium, high or xhigh. Default: what fits the model.",
    ),
    reasoningDefault: reasoningField.describe("Whether thoughts are shown: off, on or stream. Default off."),
    spend: spendField,
    maxConcurrent: z
      .number()
      .int()
      .min(1)
      .max(1024)
      .default(64)
      .describe("Turns of people that run at the same time."),
    timeoutSeconds: z
      .number()
      .int()
      .min(1)
      .max(86_400)
      .default(600)
      .describe("Longest time of one turn, in seconds."),
    userTimezone: timeZone.exactOptional().describe("Time zone told to the agent. Default: the host's."),
    timeFormat: z
      .enum(["auto", "12", "24"])
      .default("auto")
      .describe("How the agent is told the time: 12 or 24 hours; auto is 24."),
    bootstrapMaxChars: z
      .number()
      .int()
      .min(1000)
      .default(20_000)
      .describe("Most characters of one workspace file in the prompt."),
    bootstrapTotalMaxChars: z
      .number()
      .int()
      .min(1000)
      .default(60_000)
      .describe("Most characters of all workspace files in the prompt."),
    bootstrapPromptTruncationWarning: z
      .enum(["off", "once", "always"])
      .default("once")
      .describe("Whether the agent is told that a workspace file was cut."),
    repoRoot: z
      .string()
      .min(1)
      .exactOptional()
      .describe("The repository named in the prompt. Default: the one that holds the workspace."),
    skills: skillNames
      .exactOptional()
      .describe("Names of the only skills that agents may use; [] is none. Default: all."),
    heartbeat: heartbeatSchema,
    silentReply: silentReplySchema,
    contextPruning: contextPruningSchema,
    compaction: compactionSchema,
    startupContext: startupContextSchema,
    contextLimits: contextLimitsSchema,
    subagents: subagentsSchema,
    memorySearch: memorySearchSchema
      .exactOptional()
      .describe("How the agent's notes are searched (docs/memory.md)."),
    sandbox: sandboxSchema.exactOptional().describe("Where commands run and what they see there."),
  })
  .prefault({})
  .describe("What every agent has unless its own entry says otherwise.");

const agent = z.strictObject({
  id: agentName.describe("Name of the agent in session keys."),
  workspace: z
    .string()
    .min(1)
    .exactOptional()
    .describe(
      "Default: agents.defaults.workspace for the first agent, workspace-<id>/ in the state folder for others.",
    ),
  model: modelChoice.exactOptional().describe("Default: agents.defaults.model."),
  skills: skillNames
    .exactOptional()
    .describe("Names of the only skills that this agent may use, in place of agents.defaults.skills."),
  skillsLimits: z
    .strictObject({
      maxSkillsPromptChars: z
        .number()
        .int()
        .min(0)
        .max(200_000)
        .exactOptional()
        .describe("Most characters of the list of skills."),
    })
    .exactOptional()
    .describe("In place of skills.limits for this agent."),
  thinkingDefault: thinkingField.describe("Default: agents.defaults.thinkingDefault."),
  reasoningDefault: reasoningField.describe("Default: agents.defaults.reasoningDefault."),
  spend: spendField.describe("Default: agents.defaults.spend, for each agent by itself."),
  contextLimits: agentContextLimitsSchema,
  subagents: z
    .strictObject({ allowAgents: allowAgents.exactOptional() })
    .exactOptional()
    .describe("Sub-agents of this agent."),
  memorySearch: memorySearchSchema
    .exactOptional()
    .describe("In place of what agents.defaults.memorySearch says, key by key."),
  heartbeat: agentHeartbeatSchema,
  tools: agentToolsSchema.exactOptional(),
  sandbox: sandboxSchema
    .exactOptional()
    .describe("In place of what agents.defaults.sandbox says, key by key."),
});

export const agentsSchema = z
  .strictObject({
    defaults,
    list: z
      .array(agent)
      .min(1, { error: "there must be at least one agent" })
      .prefault([{ id: "main" }])
      .describe(
        'The agents. One alone answers everything; of several, "main" answers what no binding names.',
      ),
  })
  .prefault({})
  .describe("Agents.");
