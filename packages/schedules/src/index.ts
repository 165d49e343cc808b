// Computes schedules: the form of a job, its instants, which slots are due, and the cells that keep jobs. It
// arms no timer and writes no row: whoever looks hands in the time and stores what was decided.
export { type Due, dueSlots, slotId } from "./due.ts";
export { instantsOfSchedule, nextInstants, staggerOf } from "./instants.ts";
export type { Job } from "./job.ts";
export { afterLook, afterRun } from "./job-state.ts";
export { jobStore } from "./job-store.ts";
export { mayRun } from "./may-run.ts";
export { previewOf } from "./words.ts";
export { editedJob, newJob } from "./written-job.ts";
