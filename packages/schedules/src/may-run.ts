// Decides whether a slot whose row is taken up runs: not when the job was edited, removed or switched off
// since, and while an earlier run goes on as the job's overlap policy says. The reason is the row's end.
import type { Slot } from "./due.ts";
import type { Job } from "./job.ts";

export type RunDecision =
  | { readonly run: "now" }
  /** Ends the run that goes on, then runs. */
  | { readonly run: "instead" }
  /** Waits for the run that goes on. */
  | { readonly run: "later" }
  | {
      readonly run: "never";
      readonly outcome: "superseded" | "skipped";
      readonly reason: string;
    };

/** More slots than this one never wait: a job that is slower than its schedule would never catch up. */
const mostWaiting = 100;

/** `running`: other slots of the job that run now; `waiting`: those that wait. */
export function mayRun(
  job: Job | null,
  slot: Pick<Slot, "version">,
  { running, waiting }: { readonly running: number; readonly waiting: number },
): RunDecision {
  if (job === null) return superseded("the job was removed");
  if (slot.version !== job.version)
    return superseded(`the job was edited: this is version ${slot.version}, now it is ${job.version}`);
  if (!job.enabled) return superseded("the job is switched off");
  if (job.state.paused !== null) return superseded(`the job is paused: ${job.state.paused.reason}`);
  if (running === 0) return { run: "now" };
  switch (job.overlap) {
    case "replace":
      return { run: "instead" };
    case "queue":
      return waiting < mostWaiting
        ? { run: "later" }
        : skipped(`${waiting} runs of the job wait already, so this one is skipped`);
    case "skip":
      return skipped("the job's last run goes on, and its overlap policy is skip");
  }
}

function superseded(reason: string): RunDecision {
  return { run: "never", outcome: "superseded", reason };
}

function skipped(reason: string): RunDecision {
  return { run: "never", outcome: "skipped", reason };
}
