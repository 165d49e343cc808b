// Answers croner's questions to a zone from a table of its offsets, so that millions of instants can be
// compared: the platform takes most of the time to say what a clock shows. What the table says is compared
// with the platform before.
import type { ZoneClock } from "./second-opinion.ts";

type Parts = Intl.DateTimeFormat["formatToParts"];

/** The offset of the zone at an instant. */
function offsetOf({ changes, firstMs }: ZoneClock): (atMs: number) => number {
  return (atMs) => {
    let [low, high] = [0, changes.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((changes[middle]?.atMs ?? Infinity) <= atMs) low = middle + 1;
      else high = middle;
    }
    return changes[low - 1]?.offsetMs ?? firstMs;
  };
}

/** While `work` runs, formatters of this zone read the table. Outside of the table's span nobody may ask. */
export function withZoneTable<T>(clock: ZoneClock, work: () => T): T {
  // Given back unbound, as it was.
  const own = Object.getOwnPropertyDescriptor(Intl.DateTimeFormat.prototype, "formatToParts") ?? {};
  const platform = own.value as Parts;
  const offsetAt = offsetOf(clock);
  const isOurs = new WeakMap<Intl.DateTimeFormat, boolean>();
  const fromTable: Parts = function fromTable(this: Intl.DateTimeFormat, asked) {
    let ours = isOurs.get(this);
    if (ours === undefined) isOurs.set(this, (ours = this.resolvedOptions().timeZone === clock.zone));
    if (!ours || asked === undefined) return platform.call(this, asked);
    const shown = new Date(Number(asked) + offsetAt(Number(asked)));
    return [
      { type: "year", value: `${shown.getUTCFullYear()}` },
      { type: "month", value: `${shown.getUTCMonth() + 1}` },
      { type: "day", value: `${shown.getUTCDate()}` },
      { type: "hour", value: `${shown.getUTCHours()}` },
      { type: "minute", value: `${shown.getUTCMinutes()}` },
      { type: "second", value: `${shown.getUTCSeconds()}` },
    ];
  };
  Object.defineProperty(Intl.DateTimeFormat.prototype, "formatToParts", { ...own, value: fromTable });
  try {
    return work();
  } finally {
    Object.defineProperty(Intl.DateTimeFormat.prototype, "formatToParts", own);
  }
}

/** Hours and the seconds beside each change at which the table and the platform differ. */
export function wrongInTable(clock: ZoneClock, fromMs: number, untilMs: number): readonly string[] {
  const format = new Intl.DateTimeFormat("sv-SE", {
    timeZone: clock.zone,
    dateStyle: "short",
    timeStyle: "medium",
  });
  const offsetAt = offsetOf(clock);
  const isWrong = (atMs: number): boolean =>
    Date.parse(`${format.format(atMs).replace(" ", "T")}Z`) !== atMs + offsetAt(atMs);
  const looked = clock.changes.flatMap(({ atMs }) => [atMs - 1_000, atMs]);
  for (let atMs = fromMs; atMs < untilMs; atMs += 3_600_000) looked.push(atMs);
  return looked.filter(isWrong).map((atMs) => `${clock.zone} ${new Date(atMs).toISOString()}`);
}
