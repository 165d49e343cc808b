// The config says here when the daemon copies its database by itself, where to, and how many copies stay.
import { z } from "zod";
import { secretField } from "./fields.ts";

export const backupSchema = z
  .strictObject({
    everyHours: z
      .number()
      .min(1)
      .max(8_760)
      .exactOptional()
      .describe("Hours between two backups that the gateway makes by itself. Absent: it makes none."),
    folder: z
      .string()
      .min(1)
      .default("backups")
      .describe("Where they lie; a relative path counts from the state folder."),
    keep: z
      .number()
      .int()
      .min(1)
      .max(1_000)
      .default(7)
      .describe("So many of the newest stay. Files that the gateway did not make there are left alone."),
    passphrase: secretField("Encrypts them. Lost, they cannot be read.").exactOptional(),
  })
  .prefault({})
  .describe("Backups of the database on a schedule.");
