// Names the runs that somebody asked for beside the schedule, so that they are told from its instants.

/** The id of a run that somebody asked for. */
export function manualId(job: string, key: string): string {
  return `cron:${job}:run:${key}`;
}

export function isManual(slot: string): boolean {
  return /^cron:[^:]+:run:/.test(slot);
}
