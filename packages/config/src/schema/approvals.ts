// approvals.*: who decides about what an agent may not do by itself, and where they are asked.
import { z } from "zod";
import { personId } from "./fields.ts";

export const approvalsSchema = z
  .strictObject({
    exec: z
      .strictObject({
        approvers: z
          .array(personId)
          .exactOptional()
          .describe(
            'Who may approve commands, "<channel>:<id>". Default: the owners (commands.ownerAllowFrom).',
          ),
        target: z
          .enum(["dm", "channel", "both"])
          .default("dm")
          .describe(
            'Where they are asked about what is wanted in a shared place: "dm" (each in private), "channel" (there), "both".',
          ),
        timeoutMinutes: z
          .number()
          .int()
          .min(1)
          .max(1_440)
          .default(30)
          .describe("After this long without an answer the command is denied."),
      })
      .prefault({})
      .describe("Commands."),
  })
  .prefault({})
  .describe("Approvals by people.");
