// The config says here how much people and shared places may ask: messages, turns and money.
import { z } from "zod";

const count = (what: string) => z.number().int().min(1).exactOptional().describe(what);

const limitsOf = (whose: string) =>
  z
    .strictObject({
      messagesPerMinute: count(
        `Most messages ${whose} within a minute; those beyond are refused, and told once.`,
      ),
      messagesPerHour: count(`Most messages ${whose} within an hour.`),
      turnsPerDay: count(`Most turns ${whose} on one day.`),
      dayUsd: z.number().nonnegative().exactOptional().describe(`Most US dollars ${whose} on one day.`),
      monthUsd: z.number().nonnegative().exactOptional().describe(`Most US dollars ${whose} in one month.`),
      dayTokens: count(`Most tokens ${whose} on one day, in and out.`),
      monthTokens: count(`Most tokens ${whose} in one month, in and out.`),
    })
    .prefault({});

export const limitsSchema = z
  .strictObject({
    person: limitsOf("of one person").describe("What one person may ask, over all places."),
    place: limitsOf("in one group or channel").describe("What all people of one group or channel may ask."),
    owners: z.boolean().default(false).describe("Whether owners are held to them as well."),
  })
  .prefault({})
  .describe("Limits for people and shared places, beside those of agents. None is set unless named.");
