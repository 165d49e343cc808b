// Notes what the files of a watch are like when it is made or begins anew, so that everything after that is a
// change, also what comes before anybody looks.
import { Fault } from "@parley/protocol";
import type { Job } from "@parley/schedules";

/** What a look at watched files found. */
export interface FilesSeen {
  /** Differs when a file came, went or was written. */
  readonly digest: string;
  /** The one that was written last comes first. */
  readonly files: readonly { readonly name: string; readonly mtimeMs: number }[];
}

/** A text says why the path cannot be watched. */
export type FilesOf = (agent: string, path: string) => Promise<FilesSeen | string>;

/** `before`: the job as it was; null for a new one. Throws Fault("invalid"). */
export async function withBaseline(job: Job, before: Job | null, filesOf: FilesOf): Promise<Job> {
  const { schedule, agent, state } = job;
  if (schedule.kind !== "watch") return job;
  const isBegun =
    before?.effectiveFromMs !== job.effectiveFromMs ||
    JSON.stringify(before.schedule) !== JSON.stringify(schedule);
  if (!isBegun) return job;
  const found = await filesOf(agent, schedule.path);
  if (typeof found === "string")
    throw new Fault("invalid", `schedule.path ${JSON.stringify(schedule.path)} ${found}`);
  // The count goes on, so that no change of now has the number of an earlier one.
  const generation = before?.state.seen?.generation ?? 0;
  return {
    ...job,
    state: { ...state, seen: { generation, digest: found.digest, atMs: job.effectiveFromMs } },
  };
}
