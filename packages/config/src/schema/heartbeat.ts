// agents.*.heartbeat: how often an agent is asked by itself whether anything needs attention, when, and who
// is told.
import { z } from "zod";
import { timeZone } from "./fields.ts";

const span = z
  .string()
  .regex(/^\d{1,6}(?:s|m|h|d)$/, { error: 'a time is written like "30m" or "1h"; "0m" is off' });

const hourOfDay = z.string().regex(/^(?:[01]\d|2[0-3]):[0-5]\d$|^24:00$/, {
  error: 'a time of day is written like "08:00", up to "24:00"',
});

const heartbeatHours = z
  .strictObject({
    start: hourOfDay.describe("The first minute."),
    end: hourOfDay.describe(
      "The minute after the last. Before `start`: it goes over midnight; the same as `start`: never.",
    ),
    timezone: z
      .union([z.enum(["user", "local"]), timeZone])
      .default("user")
      .describe(
        '"user" (agents.defaults.userTimezone), "local" (the host\'s) or a name like "Europe/Berlin".',
      ),
  })
  .exactOptional()
  .describe("Heartbeats are sent within these hours only. Default: always.");

const heartbeatTarget = z
  .string()
  .regex(
    /^(?:owner|last|none|telegram:-?\d+(?::topic:\d+)?|discord:(?:user|channel|thread):\d+|[a-z]+:[^:]+:(?:dm|group|channel):.+)$/,
    {
      error:
        'a heartbeat\'s target is "owner", "last", "none" or a place like "telegram:123" or "discord:channel:456"',
    },
  );

const heartbeatFields = {
  every: span.describe('Time between heartbeats, like "30m"; "0m" is off.'),
  prompt: z.string().min(1).max(2000).describe("The message that a heartbeat sends to the agent."),
  includeSystemPromptSection: z
    .boolean()
    .describe("Whether the prompt explains heartbeats and holds HEARTBEAT.md."),
  target: heartbeatTarget.describe(
    'Who is told: "owner" (the first owner\'s private chat), "last" (the owner\'s private chat that was written in last), "none", or a place like "telegram:123".',
  ),
  model: z
    .string()
    .min(1)
    .max(200)
    .exactOptional()
    .describe("Model of heartbeats, by PROVIDER/MODEL or alias. Default: the session's."),
  lightContext: z
    .boolean()
    .describe("Of the workspace's files, only HEARTBEAT.md is in a heartbeat's prompt."),
  activeHours: heartbeatHours,
};

export const heartbeatSchema = z
  .strictObject({
    ...heartbeatFields,
    every: heartbeatFields.every.default("0m"),
    prompt: heartbeatFields.prompt.default(
      "Read HEARTBEAT.md if it exists and follow it. Do not repeat old tasks. If nothing needs attention, reply HEARTBEAT_OK.",
    ),
    includeSystemPromptSection: heartbeatFields.includeSystemPromptSection.default(true),
    target: heartbeatFields.target.default("owner"),
    lightContext: heartbeatFields.lightContext.default(false),
  })
  .prefault({})
  .describe("Heartbeats (docs/schedules.md).");

export const agentHeartbeatSchema = z
  .strictObject({
    ...heartbeatFields,
    every: heartbeatFields.every.exactOptional(),
    prompt: heartbeatFields.prompt.exactOptional(),
    includeSystemPromptSection: heartbeatFields.includeSystemPromptSection.exactOptional(),
    target: heartbeatFields.target.exactOptional(),
    lightContext: heartbeatFields.lightContext.exactOptional(),
  })
  .exactOptional()
  .describe("In place of what agents.defaults.heartbeat says, key by key.");
