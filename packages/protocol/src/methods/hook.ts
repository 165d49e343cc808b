// The control plane's methods for hooks: list them with the reason why one does not run, show one, and switch
// one on or off in the config.
import { z } from "zod";
import { configWritten } from "./config.ts";

const name = z.string().min(1).max(256);
const source = z.enum(["managed", "extra", "bundled", "workspace", "config"]);

const counts = z.object({
  runs: z.number().int(),
  failed: z.number().int(),
  timedOut: z.number().int(),
  /** Events that it was not told: too many waited, or it is left alone for a while. */
  dropped: z.number().int(),
  lastAtMs: z.number().nullable(),
  lastError: z.string().nullable(),
});

const hook = z.object({
  name: z.string(),
  description: z.string(),
  emoji: z.string().nullable(),
  source,
  /** Of a workspace's: the agent whose events it hears. */
  agent: z.string().nullable(),
  events: z.array(z.string()),
  /** Path of its HOOK.md, or of the module that the config names. */
  file: z.string(),
  status: z.enum(["ready", "disabled", "unmet", "changed"]),
  /** Why it is not ready. */
  reason: z.string().nullable(),
  enabled: z.boolean(),
  /** All that it requires is there. */
  eligible: z.boolean(),
  /** Since the daemon started; null where none runs. */
  counts: counts.nullable(),
  /** Oddities in its file. */
  notes: z.array(z.string()),
});

export const hookMethods = {
  "hooks.list": {
    scope: "read",
    sessions: "none",
    needs: "config",
    params: z.object({}),
    result: z.object({
      /** `hooks.internal.enabled`. */
      enabled: z.boolean(),
      /** In order of precedence. */
      roots: z.array(z.object({ source, path: z.string() })),
      hooks: z.array(hook),
      shadowed: z.array(z.object({ name: z.string(), source, file: z.string(), by: z.string() })),
      rejected: z.array(z.object({ source, file: z.string(), reason: z.string() })),
    }),
  },
  "hooks.info": {
    scope: "read",
    sessions: "none",
    needs: "config",
    params: z.object({ name }),
    result: hook.extend({
      /** Its key in `hooks.internal.entries`. */
      key: z.string(),
      homepage: z.string().nullable(),
      handler: z.string().nullable(),
      export: z.string(),
      always: z.boolean(),
      requirements: z.array(
        z.object({
          kind: z.enum(["os", "bin", "anyBins", "env", "config"]),
          what: z.string(),
          satisfied: z.boolean(),
        }),
      ),
    }),
  },
  /**
   * Writes `hooks.internal.entries.<name>.enabled`; of a workspace's hook also what its content is, so that
   * it runs as it is now and in no other form.
   */
  "hooks.enable": {
    scope: "admin",
    sessions: "none",
    needs: "config",
    params: z.object({ name }),
    result: configWritten,
  },
  "hooks.disable": {
    scope: "admin",
    sessions: "none",
    needs: "config",
    params: z.object({ name }),
    result: configWritten,
  },
} as const;
