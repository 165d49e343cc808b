// Methods of the database's copies: to make one, to list those that made themselves, to put one in its
// place.
import { z } from "zod";

const path = z.string().min(1).max(4096);
const passphrase = z.string().min(1).max(1024);

export const backupMethods = {
  /**
   * Copies the database at one instant to a new file on the gateway's machine and checks the copy; with a
   * passphrase it is encrypted. Takes an absolute path.
   */
  backup: {
    scope: "admin",
    sessions: "all",
    needs: "database",
    params: z.object({ path, passphrase: passphrase.optional() }),
    result: z.object({ path: z.string(), bytes: z.number() }),
  },
  /** The backups that were made by themselves, the newest first. */
  "backups.list": {
    scope: "admin",
    sessions: "none",
    needs: "config",
    params: z.object({}),
    result: z.object({
      folder: z.string(),
      /** Null: none are made. */
      everyHours: z.number().nullable(),
      keep: z.number().int(),
      backups: z.array(
        z.object({
          name: z.string(),
          path: z.string(),
          bytes: z.number(),
          atMs: z.number(),
          /** Encrypted by the passphrase of the config. */
          sealed: z.boolean(),
        }),
      ),
    }),
  },
  /**
   * Replaces the database with a backup and keeps the old file. Only while no daemon runs (`--once`). Takes
   * an absolute path. Messages and answers that were open when the backup was made wait for an operator,
   * unless `resume` says that nobody has worked on them since.
   */
  restore: {
    scope: "admin",
    sessions: "all",
    needs: "database",
    params: z.object({ path, passphrase: passphrase.optional(), resume: z.boolean().optional() }),
    result: z.object({
      path: z.string(),
      keptAs: z.string().nullable(),
      /** Messages and answers that wait for an operator now. */
      messages: z.number().int(),
      answers: z.number().int(),
    }),
  },
} as const;
