// Computes schedules: the form of a job, its instants, which slots are due, and the cells that keep jobs. It
// arms no timer and writes no row: whoever looks hands in the time and stores what was decided.
export { type Due, dueSlots, type Missed, missedBeside, slotId } from "./due.ts";
export { instantsOfSchedule, nextInstants, staggerOf } from "./instants.ts";
export type { Job, JobOwner } from "./job.ts";
export { afterLook, afterRun, type AfterRun } from "./job-state.ts";
export { jobPrefix, type JobStore, jobStore, type KeptJob, wakeOf } from "./job-store.ts";
export { asEdited, asWritten } from "./known-names.ts";
export { mayRun } from "./may-run.ts";
export { previewOf, zoneOf } from "./words.ts";
export { editedJob, newJob } from "./written-job.ts";
export { type Problem, spanMs } from "./written-schedule.ts";
export { firstInstantFrom, localText } from "./zones.ts";
