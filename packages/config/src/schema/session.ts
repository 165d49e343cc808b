// session.*: which messages share a conversation, who is one person on several channels, and when a
// conversation begins anew.
import { dmScopes } from "@parley/protocol";
import { z } from "zod";
import { personId } from "./fields.ts";

const resetPolicy = z.strictObject({
  mode: z
    .enum(["none", "daily", "idle"])
    .describe(
      '"none" (only /new), "daily" (at atHour; with idleMinutes also after a pause, whichever comes first), "idle" (after a pause).',
    ),
  atHour: z
    .number()
    .int()
    .min(0)
    .max(23)
    .default(4)
    .describe("Hour of the day in agents.defaults.userTimezone at which a day begins."),
  idleMinutes: z
    .number()
    .int()
    .min(1)
    .max(525_600)
    .exactOptional()
    .describe("Minutes without a message from a person. Heartbeats and schedules do not count."),
});

export const dmScope = z
  .enum(dmScopes)
  .describe(
    'Who shares a conversation in private: "main" (everybody one), "per-peer", "per-channel-peer", "per-account-channel-peer".',
  );

const hours = z.number().min(0).max(8_760);

export const sessionSchema = z
  .strictObject({
    dmScope: dmScope.default("per-channel-peer"),
    identityLinks: z
      .record(z.string(), z.array(personId))
      .default({})
      .describe(
        'One person on several channels, by "<channel>:<id>": { alice: ["telegram:123", "discord:456"] }.',
      ),
    reset: resetPolicy
      .prefault({ mode: "none" })
      .describe("When a conversation begins anew by itself; nothing is deleted."),
    resetByType: z
      .strictObject({
        direct: resetPolicy.exactOptional().describe("In private."),
        group: resetPolicy.exactOptional().describe("In groups and channels."),
        thread: resetPolicy.exactOptional().describe("In topics and threads."),
      })
      .default({})
      .describe("In place of reset, by the kind of conversation."),
    resetByChannel: z
      .record(z.string(), resetPolicy)
      .default({})
      .describe('In place of both, by channel: { telegram: { mode: "idle", idleMinutes: 60 } }.'),
    threadBindings: z
      .strictObject({
        enabled: z.boolean().default(true).describe("False: no sub-agent gets a thread of its own."),
        idleHours: hours
          .default(24)
          .describe(
            "Without a word of people or the sub-agent, in hours; 0: it stays until it is sent away.",
          ),
        maxAgeHours: hours.default(0).describe("Since the thread was opened, in hours; 0: no limit."),
      })
      .prefault({})
      .describe("When a sub-agent leaves the thread that it works in; never in the middle of its work."),
  })
  .prefault({})
  .describe("How messages are grouped into sessions.");
