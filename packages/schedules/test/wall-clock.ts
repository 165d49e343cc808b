// Reads every minute of a few days off a zone's clocks, as a second opinion on the instants of cron
// expressions: it shares no code with them.

interface WallTime {
  readonly weekday: number;
  readonly hour: number;
  readonly minute: number;
}

export interface WallMinute {
  readonly atMs: number;
  readonly shown: WallTime;
  /** The local minutes between the last one and this one that the clocks skip. */
  readonly skipped: readonly WallTime[];
  /** The same local time was shown before. */
  readonly again: boolean;
}

export function minutesOf(zone: string, fromMs: number, days: number): readonly WallMinute[] {
  const format = new Intl.DateTimeFormat("sv-SE", { timeZone: zone, dateStyle: "short", timeStyle: "short" });
  // Swedish writes 2026-03-29 03:00, which reads as an ISO date.
  const localOf = (atMs: number): number => Date.parse(`${format.format(atMs).replace(" ", "T")}Z`);
  const seen = new Set<number>();
  let last = localOf(fromMs - 60_000);
  // What was shown in the hours before may come again.
  for (let atMs = fromMs - 10_800_000; atMs < fromMs; atMs += 60_000) seen.add(localOf(atMs));
  return Array.from({ length: days * 1_440 }, (_, index) => {
    const atMs = fromMs + index * 60_000;
    const local = localOf(atMs);
    const skipped: WallTime[] = [];
    for (let gone = last + 60_000; gone < local; gone += 60_000) skipped.push(fieldsOf(gone));
    const again = seen.has(local);
    seen.add(local);
    last = local;
    return { atMs, shown: fieldsOf(local), skipped, again };
  });
}

function fieldsOf(local: number): WallTime {
  const date = new Date(local);
  return { weekday: date.getUTCDay(), hour: date.getUTCHours(), minute: date.getUTCMinutes() };
}

/** Lists, ranges and steps of one field. */
export function fieldMatches(field: string, value: number, least: number, most: number): boolean {
  return field.split(",").some((part) => {
    const [range = "", step = "1"] = part.split("/");
    const [low = "", high = low] = range === "*" ? [String(least), String(most)] : range.split("-");
    return value >= Number(low) && value <= Number(high) && (value - Number(low)) % Number(step) === 0;
  });
}

/** The expression names times of day, instead of going by the clock. */
export function isGivenTimes(expression: string): boolean {
  const [minute = "", hour = ""] = expression.split(" ");
  return !/[*/]/.test(minute + hour);
}
