// Reads per session how messages that arrive while a turn runs are handled, from the config or from what
// /queue set.
import { z } from "zod";
import type { Session } from "@parley/store";

export const queueModes = ["steer", "followup", "collect", "interrupt"] as const;
export const dropPolicies = ["summarize", "old", "new"] as const;

export interface QueueSettings {
  readonly mode: (typeof queueModes)[number];
  /** Quiet time before a collected turn starts. */
  readonly debounceMs: number;
  /** Waiting rows beyond this are dropped as `drop` says. */
  readonly cap: number;
  readonly drop: (typeof dropPolicies)[number];
}

const own = z.object({
  mode: z.enum(queueModes).exactOptional(),
  debounceMs: z.number().exactOptional(),
  cap: z.number().exactOptional(),
  drop: z.enum(dropPolicies).exactOptional(),
});

/** The session field that /queue writes. */
export const queueField = "queue";

/** Returns what /queue set in this session; empty when it set nothing that this version understands. */
export function ownQueueSettings(session: Session): z.output<typeof own> {
  const parsed = own.safeParse(session.fields[queueField] ?? {});
  return parsed.success ? parsed.data : {};
}

export function queueSettingsOf(session: Session, configured: QueueSettings): QueueSettings {
  const { mode, debounceMs, cap, drop } = ownQueueSettings(session);
  return {
    mode: mode ?? configured.mode,
    debounceMs: debounceMs ?? configured.debounceMs,
    cap: cap ?? configured.cap,
    drop: drop ?? configured.drop,
  };
}
