// Taking up the config again, and what became of it.
import { z } from "zod";

export const reloadMethods = {
  /** Reads the config file and the files of its secrets again. A config that is refused is an answer, no error. */
  reload: {
    scope: "admin",
    sessions: "none",
    params: z.object({}),
    result: z.object({
      outcome: z.enum(["taken", "unchanged", "refused"]),
      /** Keys that differ; a list is one. */
      changed: z.array(z.string()),
      /** Accounts whose channel was stopped, started or both. */
      restarted: z.array(z.string()),
      /** What only the next start takes up, of everything that changed since the last one. */
      restartNeeded: z.array(z.string()),
      /** Why it was refused, one line each, with file and line. */
      problems: z.array(z.string()),
    }),
  },
} as const;

/** Of `status`. */
export const configStatus = z.object({
  /** Since when the config in force is. */
  takenAtMs: z.number(),
  /** Why the files as they are now were refused; empty when they are in force. */
  problems: z.array(z.string()),
  restartNeeded: z.array(z.string()),
});
