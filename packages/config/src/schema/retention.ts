// The config says here how long the gateway keeps what nothing else limits. What other keys limit stands in
// docs/operations.md beside these.
import { z } from "zod";

const days = (least: number, description: string) =>
  z.number().min(least).max(36_500).exactOptional().describe(description);

export const retentionSchema = z
  .strictObject({
    transcripts: z
      .strictObject({
        days: days(
          1,
          "Days after its last words that a conversation is kept: one before a /new, or a session in which nobody has spoken since. Absent: for good.",
        ),
      })
      .prefault({})
      .describe("What was said in sessions."),
    results: z
      .strictObject({
        days: days(
          2,
          "Days that long results of tools and the output of commands are kept in the agents' workspaces. Absent: the newest 1000 results and the output of 200 commands stay.",
        ),
      })
      .prefault({})
      .describe(
        "Results of tools that were too long for a transcript, and what commands said, in .parley/results and .parley/exec.",
      ),
    logs: z
      .strictObject({
        days: days(
          1,
          "Days that older files of the log are kept, fewer than logging.file.keep. Absent: so many stay.",
        ),
      })
      .prefault({})
      .describe("Files of the log in logs/ of the state folder; the one that is written to stays."),
    backups: z
      .strictObject({
        days: days(
          1,
          "Days that backups are kept, fewer than backup.keep; the newest stays. Absent: so many stay.",
        ),
      })
      .prefault({})
      .describe("Backups that the gateway made by itself."),
  })
  .prefault({})
  .describe("How long things are kept; `parley retention` shows what goes.");
