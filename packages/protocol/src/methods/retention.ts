// The control plane's method for what age and size take: shows it, or takes it now.
import { z } from "zod";

const rule = z.object({
  /** What it is about, for example `transcripts`. */
  name: z.string(),
  /** Places of the config that set it; none where it is fixed. */
  keys: z.array(z.string()),
  /** The rule as it is now, in words. */
  rule: z.string(),
  /** How many go, or went; null for what leaves by itself and is not counted before. */
  count: z.number().int().nullable(),
  /** What they are. */
  unit: z.string(),
  /** Of files. */
  bytes: z.number().int().nullable(),
});

export const retentionMethods = {
  /** Shows what is past its time or over its size; with `confirm` removes it now. */
  "retention.run": {
    scope: "admin",
    sessions: "all",
    needs: "config and store",
    params: z.object({ confirm: z.boolean().optional() }),
    result: z.object({ done: z.boolean(), rules: z.array(rule) }),
  },
} as const;
