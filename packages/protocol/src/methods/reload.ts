// The control plane's method for reloading the config, and the report on the last reload.
import { z } from "zod";

export const reloadMethods = {
  /**
   * Reads the config file and its secret files again. A config that is refused is a normal answer and no
   * error.
   */
  reload: {
    scope: "admin",
    sessions: "none",
    needs: "daemon",
    params: z.object({}),
    result: z.object({
      outcome: z.enum(["taken", "unchanged", "refused"]),
      /** Keys whose values differ; a list counts as one key. */
      changed: z.array(z.string()),
      /** Accounts whose channel was stopped, started or both. */
      restarted: z.array(z.string()),
      /** Keys changed since the last start that take effect only after a restart. */
      restartNeeded: z.array(z.string()),
      /** Why the config was refused: one line per problem, with file and line. */
      problems: z.array(z.string()),
    }),
  },
} as const;

/** The part of `status` about the config. */
export const configStatus = z.object({
  /** When the config in force was loaded. */
  takenAtMs: z.number(),
  /** Why the files as they are now were refused; empty when they are in force. */
  problems: z.array(z.string()),
  restartNeeded: z.array(z.string()),
});
