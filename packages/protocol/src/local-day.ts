// Calendar days in the agent's time zone; daily notes are named by them.

/** Returns a date like `2026-11-21`. `timeZone` is an IANA name. */
export function localDay(atMs: number, timeZone: string): string {
  let format = formats.get(timeZone);
  if (format === undefined) {
    // Swedish writes dates as ISO does.
    format = new Intl.DateTimeFormat("sv-SE", {
      timeZone,
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
    });
    formats.set(timeZone, format);
  }
  return format.format(atMs);
}

/** Making a format costs more than a commit, and a config names one zone. */
const formats = new Map<string, Intl.DateTimeFormat>();

/** Returns today and the days before it, newest first. */
export function recentDays(atMs: number, timeZone: string, count: number): readonly string[] {
  // Counting back from noon in UTC gives the right dates across days of 23 and 25 hours.
  const noon = Date.parse(`${localDay(atMs, timeZone)}T12:00:00Z`);
  return Array.from({ length: count }, (_, ago) => localDay(noon - ago * 86_400_000, "UTC"));
}
