// Computes the instants of drawn cron expressions from what docs/schedules.md says alone: it walks the days
// of a zone, takes the wall times that the expression names, and asks the zone's offsets for their instants.
// It shares no code with the calculator that it is compared with.

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** What an expression says, field by field; null: every value. */
export interface Drawn {
  readonly cron: string;
  /** The same for `systemd-analyze calendar`, without the zone; null where it has no such words. */
  readonly systemd: string | null;
  readonly second: number;
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly days: readonly number[] | null;
  readonly months: readonly number[] | null;
  readonly weekdays: readonly number[] | null;
  /** Minute and hour name times, and do not go by the clock. */
  readonly isGiven: boolean;
}

/** The offsets of a zone over some years: before the first change, and after each. */
export interface ZoneClock {
  readonly zone: string;
  readonly changes: readonly { readonly atMs: number; readonly offsetMs: number }[];
  readonly firstMs: number;
}

interface Field {
  readonly text: string;
  readonly systemd: string;
  readonly values: readonly number[];
  readonly byClock: boolean;
}

function chance(seed: number): () => number {
  let state = seed;
  // Mulberry32, so that every run draws the same.
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export function drawnExpressions(seed: number, count: number): readonly Drawn[] {
  const random = chance(seed);
  const below = (end: number): number => Math.floor(random() * end);
  const pick = <T>(items: readonly T[]): T => items[below(items.length)] as T;

  const range = (first: number, last: number, step = 1): readonly number[] =>
    Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, nth) => first + nth * step);
  function field(
    least: number,
    most: number,
    kinds: readonly ("one" | "list" | "range" | "step" | "all")[],
  ): Field {
    const some = (): number => least + below(most - least + 1);
    switch (pick(kinds)) {
      case "one": {
        const value = some();
        return { text: `${value}`, systemd: `${value}`, values: [value], byClock: false };
      }
      case "list": {
        const values = [...new Set([some(), some(), some()])].toSorted((a, b) => a - b);
        return { text: values.join(","), systemd: values.join(","), values, byClock: false };
      }
      case "range": {
        const [first = least, last = most] = [some(), some()].toSorted((a, b) => a - b);
        return {
          text: `${first}-${last}`,
          systemd: `${first}..${last}`,
          values: range(first, last),
          byClock: false,
        };
      }
      case "step": {
        const step = 2 + below(Math.min(30, most - least - 1));
        return {
          text: `*/${step}`,
          // Its own steps leave out the first of a day where the day before had none left.
          systemd: range(least, most, step).join(","),
          values: range(least, most, step),
          byClock: true,
        };
      }
      case "all":
        return { text: "*", systemd: "*", values: range(least, most), byClock: true };
    }
  }

  const names = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
  return Array.from({ length: count }, () => {
    // The hours in which clocks change are drawn more often than others.
    const early = random() < 0.6;
    const minute = field(0, 59, ["one", "one", "list", "step", "all"]);
    const hour = early
      ? field(0, 3, ["one", "one", "list", "range"])
      : field(0, 23, ["one", "list", "range", "step", "all"]);
    const day = field(1, 31, ["all", "all", "all", "one", "list", "range"]);
    const month = field(1, 12, ["all", "all", "all", "list", "range"]);
    const weekday = field(0, 6, ["all", "all", "one", "list", "range"]);
    const second = random() < 0.15 ? 30 : 0;
    const anyDay = day.text === "*";
    const anyWeekday = weekday.text === "*";
    const both = !anyDay && !anyWeekday;
    const onDays = anyWeekday ? "" : `${weekday.values.map((value) => names[value]).join(",")} `;
    return {
      cron: [
        ...(second === 0 ? [] : [second]),
        minute.text,
        hour.text,
        day.text,
        month.text,
        weekday.text,
      ].join(" "),
      // There a day has to match both, so either-or cannot be said.
      systemd: both
        ? null
        : `${onDays}*-${month.systemd}-${day.systemd} ${hour.systemd}:${minute.systemd}:${second}`,
      second,
      minutes: minute.values,
      hours: hour.values,
      days: anyDay ? null : day.values,
      months: month.text === "*" ? null : month.values,
      weekdays: anyWeekday ? null : weekday.values,
      isGiven: !minute.byClock && !hour.byClock,
    };
  });
}

export function zoneClock(zone: string, fromMs: number, untilMs: number): ZoneClock {
  const format = new Intl.DateTimeFormat("sv-SE", {
    timeZone: zone,
    dateStyle: "short",
    timeStyle: "medium",
  });
  // Swedish writes 2026-03-29 03:00:00, which reads as an ISO date.
  const offsetAt = (atMs: number): number => Date.parse(`${format.format(atMs).replace(" ", "T")}Z`) - atMs;
  const changes: { atMs: number; offsetMs: number }[] = [];
  const firstMs = offsetAt(fromMs);
  let offsetMs = firstMs;
  for (let atMs = fromMs; atMs < untilMs; atMs += 6 * hourMs) {
    const next = offsetAt(atMs + 6 * hourMs);
    if (next === offsetMs) continue;
    let [low, high] = [atMs, atMs + 6 * hourMs];
    while (high - low > 1_000) {
      const middle = Math.floor((low + high) / 2_000) * 1_000;
      if (offsetAt(middle) === offsetMs) low = middle;
      else high = middle;
    }
    changes.push({ atMs: high, offsetMs: next });
    offsetMs = next;
  }
  return { zone, changes, firstMs };
}

/** In order; `fromMs` and `untilMs` are instants. */
export function instantsBySpec(
  drawn: Drawn,
  clock: ZoneClock,
  fromMs: number,
  untilMs: number,
): readonly number[] {
  const found = new Set<number>();
  for (
    let dayAtMs = Math.floor(fromMs / dayMs) * dayMs - dayMs;
    dayAtMs < untilMs + dayMs;
    dayAtMs += dayMs
  ) {
    if (!isDay(drawn, new Date(dayAtMs))) continue;
    for (const hour of drawn.hours)
      for (const minute of drawn.minutes)
        for (const atMs of instantsOfWall(
          dayAtMs + hour * hourMs + minute * minuteMs + drawn.second * 1_000,
          drawn,
          clock,
        ))
          if (atMs >= fromMs && atMs < untilMs) found.add(atMs);
  }
  return [...found].toSorted((a, b) => a - b);
}

/** A day of the month and a weekday that are both named are either-or. */
function isDay({ days, months, weekdays }: Drawn, date: Date): boolean {
  if (months !== null && !months.includes(date.getUTCMonth() + 1)) return false;
  const isDate = days?.includes(date.getUTCDate()) ?? true;
  const isWeekday = weekdays?.includes(date.getUTCDay()) ?? true;
  return days !== null && weekdays !== null ? isDate || isWeekday : isDate && isWeekday;
}

function instantsOfWall(
  wallMs: number,
  { isGiven }: Drawn,
  { changes, firstMs }: ZoneClock,
): readonly number[] {
  const spans = [
    { fromMs: -Infinity, offsetMs: firstMs },
    ...changes.map(({ atMs, offsetMs }) => ({ fromMs: atMs, offsetMs })),
  ];
  const instants = spans.flatMap(({ fromMs, offsetMs }, at) => {
    const atMs = wallMs - offsetMs;
    return atMs >= fromMs && atMs < (spans[at + 1]?.fromMs ?? Infinity) ? [atMs] : [];
  });
  if (!isGiven) return instants;
  if (instants.length > 0) return instants.slice(0, 1);
  // The clocks skip it: the first instant after that, if it is on the same day.
  return spans.flatMap(({ fromMs, offsetMs }, at) => {
    const before = spans[at - 1];
    const isSkipped =
      before !== undefined && wallMs - before.offsetMs >= fromMs && wallMs - offsetMs < fromMs;
    const isSameDay = Math.floor((fromMs + offsetMs) / dayMs) === Math.floor(wallMs / dayMs);
    return isSkipped && isSameDay ? [fromMs] : [];
  });
}
