// Makes jobs for the tests beside it, as an owner's turn in a private chat makes them.
import { newJob, type Job } from "@parley/schedules";
import type { JobMaker } from "../src/schedules/job-maker.ts";

export const madeAtMs = Date.parse("2026-11-23T08:00:00Z");

export const olga: JobMaker = {
  agent: "main",
  kind: "turn",
  sender: "telegram:7",
  isOwner: true,
  conversation: { channel: "telegram", account: "default", kind: "dm", peer: "7" },
  session: "agent:main:telegram:dm:7",
  turn: "agent:main:telegram:dm:7#1",
  authority: "owner",
  tools: null,
};

/** `state`: of the job as it then is. */
export function jobOf(
  { state, ...fields }: { readonly state?: Partial<Job["state"]>; readonly [field: string]: unknown } = {},
  by: JobMaker = olga,
): Job {
  const { agent, ...owner } = by;
  const made = newJob(
    {
      name: "Brief",
      schedule: { kind: "cron", expression: "0 9 * * 1-5" },
      payload: { kind: "agentTurn", message: "Say what is on today." },
      ...fields,
    },
    { id: "brief", agent, owner, zone: "Europe/Berlin", nowMs: madeAtMs },
  );
  if (!made.ok) throw new Error(JSON.stringify(made.problems));
  return { ...made.job, state: { ...made.job.state, ...state } };
}
