// The port to reminders and jobs.
import type { ToolScope } from "../tool.ts";
import type { Done } from "./done.ts";

export const cronActions = [
  "status",
  "list",
  "get",
  "add",
  "update",
  "remove",
  "run",
  "runs",
  "wake",
] as const;

/** What each action needs is checked by the port; jobs and patches are as models write them. */
interface CronRequest {
  readonly action: (typeof cronActions)[number];
  readonly job?: { readonly [field: string]: unknown } | undefined;
  readonly patch?: { readonly [field: string]: unknown } | undefined;
  /** An id or a name. */
  readonly jobId?: string | undefined;
  readonly limit: number;
  readonly text?: string | undefined;
  readonly mode: "now" | "next-heartbeat";
}

/** Reminders and jobs of the people whose words a call's turn follows. Throws Fault. */
export interface ScheduledJobs {
  /** Changes nothing by itself: what is to be done stands in the effects. */
  act(scope: ToolScope, request: CronRequest): Promise<Done>;
}
