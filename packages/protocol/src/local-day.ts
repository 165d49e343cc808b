// The calendar day of an instant where the agent's people live: what daily notes are named by.

/** `2026-11-21`; `timeZone` is an IANA name. */
export function localDay(atMs: number, timeZone: string): string {
  // Swedish writes dates as ISO does.
  return new Intl.DateTimeFormat("sv-SE", {
    timeZone,
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
  }).format(atMs);
}

/** Today and the days before it, newest first. */
export function recentDays(atMs: number, timeZone: string, count: number): readonly string[] {
  // Noon of the day's date, counted in UTC, so that days of 23 and 25 hours change nothing.
  const noon = Date.parse(`${localDay(atMs, timeZone)}T12:00:00Z`);
  return Array.from({ length: count }, (_, ago) => localDay(noon - ago * 86_400_000, "UTC"));
}
