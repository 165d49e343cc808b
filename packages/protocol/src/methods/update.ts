// The control plane's methods for updates of Parley itself.
import { z } from "zod";

export const updateMethods = {
  /**
   * Looks at the release source that the config names, and only then: nothing else asks it. `look: false`
   * asks nobody, and tells what is installed and how the last update went.
   */
  "update.check": {
    scope: "admin",
    sessions: "none",
    needs: "daemon",
    params: z.object({ look: z.boolean().default(true) }),
    result: z.object({
      installed: z
        .object({
          /** `checkout`, `npm`, `npx`, `tarball`, `deb`, `container` or `folder`. */
          kind: z.string(),
          version: z.string(),
          root: z.string(),
        })
        .nullable(),
      newest: z.string().nullable(),
      /** Whether the newest is newer than this one. */
      update: z.boolean(),
      available: z.array(z.string()),
      /** What to do where Parley does not update itself. */
      byHand: z.string().nullable(),
      /** Why there was nothing to see, as that no source is named. */
      problem: z.string().nullable(),
      /** The update that runs, or ran last. */
      last: z
        .object({ from: z.string(), to: z.string(), state: z.string(), reason: z.string().nullable() })
        .nullable(),
    }),
  },
  /** Begins; `update.check` tells how it ended. Absent `to`: the newest version. */
  "update.run": {
    scope: "admin",
    sessions: "none",
    needs: "daemon",
    params: z.object({
      to: z
        .string()
        .regex(/^\w[\w.+-]{0,63}$/)
        .optional(),
    }),
    result: z.object({ asked: z.boolean() }),
  },
} as const;
