// Keys that only the prompt reads: what is told to the agent about silence, reactions, buttons and the
// sources of memories.
import { z } from "zod";

export const silentReplySchema = z
  .strictObject({
    group: z
      .enum(["deny", "allow"])
      .default("deny")
      .describe(
        'Whether a request in a group may end without a word: "deny" tells when the agent found none or chose silence, "allow" says nothing.',
      ),
  })
  .prefault({})
  .describe("Answers that came out empty or silent. In private they are asked for once more, and then told.");

export const reactionLevel = z
  .enum(["off", "minimal", "extensive"])
  .exactOptional()
  .describe('How freely the agent reacts to messages. Default: "minimal" where it has the message tool.');

export const inlineButtons = z
  .strictObject({
    inlineButtons: z
      .enum(["off", "dm", "group", "all", "allowlist"])
      .exactOptional()
      .describe(
        'Where the agent may offer buttons: nowhere, in private, in groups, everywhere, to those who may write. Default: "allowlist".',
      ),
  })
  .exactOptional()
  .describe("What the agent may use here.");

export const memorySchema = z
  .strictObject({
    citations: z
      .enum(["off", "on", "auto"])
      .default("auto")
      .describe(
        'Whether the agent names the source of a memory: never, always, or "auto" (in private only).',
      ),
  })
  .prefault({})
  .describe("Memory.");
