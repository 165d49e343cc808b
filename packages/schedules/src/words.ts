// Says a schedule in words that people read before they agree to it, and lists its next runs in the job's
// zone. Only forms that are said without doubt get words; any other expression is shown as it is.
import { nextInstants } from "./instants.ts";
import type { Schedule } from "./job.ts";
import { localText } from "./zones.ts";

export interface Preview {
  /** For example `every weekday at 09:00 Europe/Berlin`. */
  readonly words: string;
  readonly next: readonly { readonly atMs: number; readonly iso: string; readonly local: string }[];
}

const days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const months = "January February March April May June July August September October November December".split(
  " ",
);
const units = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
] as const;
const meanings: { readonly [nickname: string]: string } = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
};

export function previewOf(schedule: Schedule, nowMs: number, runs = 3): Preview {
  const zone = zoneOf(schedule);
  return {
    words: scheduleWords(schedule),
    next: nextInstants(schedule, nowMs, runs).map((atMs) => ({
      atMs,
      iso: new Date(atMs).toISOString(),
      local: `${localText(atMs, zone)} ${zone}`,
    })),
  };
}

/** The zone that people read its instants in. */
export function zoneOf(schedule: Schedule): string {
  return schedule.kind === "at" || schedule.kind === "cron" ? schedule.zone : "UTC";
}

function scheduleWords(schedule: Schedule): string {
  switch (schedule.kind) {
    case "at":
      return `once at ${localText(schedule.atMs, schedule.zone)} ${schedule.zone}`;
    case "every":
      return `every ${spanWords(schedule.everyMs)}`;
    case "watch":
      return `when ${schedule.path} changes, after ${schedule.debounceMs / 1_000} s of quiet`;
    case "cron": {
      const words = expressionWords(schedule.expression);
      return `${words ?? `by the cron expression "${schedule.expression}"`} ${schedule.zone}`;
    }
  }
}

/** `1 hour 30 minutes`; `day` for exactly one of a unit, so that "every day" reads well. */
function spanWords(spanMs: number): string {
  let rest = spanMs;
  const parts = units.flatMap(([unit, unitMs]) => {
    const count = Math.floor(rest / unitMs);
    rest -= count * unitMs;
    return count === 0 ? [] : [`${count} ${unit}${count === 1 ? "" : "s"}`];
  });
  if (rest > 0) return `${spanMs} ms`;
  const [only = ""] = parts;
  return parts.length === 1 && only.startsWith("1 ") ? only.slice(2) : parts.join(" ");
}

function expressionWords(written: string): string | null {
  const text = written.trim();
  // "09" is 9.
  const fields = (meanings[text.toLowerCase()] ?? text)
    .split(/\s+/)
    .map((field) => field.replace(/\b0+(?=\d)/g, ""));
  const [second = "0", minute = "", hour = "", day = "", month = "", weekday = ""] =
    fields.length === 5 ? ["0", ...fields] : fields;
  if (second !== "0") return null;
  const when = dayWords(day, month, weekday);
  const time = timeWords(minute, hour);
  if (when === null || time === null) return null;
  if (time.startsWith("every")) return when === "every day" ? time : `${time}, ${when}`;
  return `${when} ${time}`;
}

function timeWords(minute: string, hour: string): string | null {
  const step = /^\*\/(\d+)$/;
  const [, minutes] = step.exec(minute) ?? [];
  if (minute === "*" && hour === "*") return "every minute";
  // A step that does not divide the hour starts again at its beginning, which "every" would not say.
  if (minutes !== undefined && hour === "*" && 60 % Number(minutes) === 0)
    return `every ${spanWords(Number(minutes) * 60_000)}`;
  if (!isNumber(minute)) return null;
  const past = minute.padStart(2, "0");
  const [, hours] = step.exec(hour) ?? [];
  if (hour === "*") return `every hour at :${past}`;
  if (hours !== undefined && 24 % Number(hours) === 0)
    return `every ${spanWords(Number(hours) * 3_600_000)} at :${past}`;
  const at = hour.split(",");
  if (!at.every(isNumber)) return null;
  return `at ${listed(at.map((one) => `${one.padStart(2, "0")}:${past}`))}`;
}

function dayWords(day: string, month: string, weekday: string): string | null {
  const anyDay = day === "*" || day === "?";
  const anyWeekday = weekday === "*" || weekday === "?";
  if (!anyDay && !anyWeekday) return null;
  const inMonth = month === "*" ? "" : monthWords(month);
  if (inMonth === null) return null;
  if (anyDay && anyWeekday) return inMonth === "" ? "every day" : `every day in ${inMonth}`;
  if (anyWeekday) {
    const which = day === "L" ? "the last day" : isNumber(day) ? `day ${Number(day)}` : null;
    if (which === null) return null;
    return `on ${which} of ${inMonth === "" ? "every month" : inMonth}`;
  }
  const named = weekdayWords(weekday.toUpperCase());
  return named === null ? null : `every ${named}${inMonth === "" ? "" : ` in ${inMonth}`}`;
}

function monthWords(month: string): string | null {
  const named = month.split(",").map((one) => {
    const byName = months.find((known) => known.slice(0, 3).toUpperCase() === one.toUpperCase());
    return byName ?? (isNumber(one) ? months[Number(one) - 1] : undefined);
  });
  return named.every((one) => one !== undefined) ? listed(named) : null;
}

function weekdayWords(weekday: string): string | null {
  if (weekday === "1-5" || weekday === "MON-FRI") return "weekday";
  const named = weekday.split(",").map((one) => {
    const byName = days.find((known) => known.slice(0, 3).toUpperCase() === one);
    return byName ?? (isNumber(one) ? days[Number(one) % 7] : undefined);
  });
  return named.every((one) => one !== undefined) ? listed(named) : null;
}

function isNumber(text: string): boolean {
  return /^\d+$/.test(text);
}

function listed(items: readonly string[]): string {
  return items.length < 2 ? items.join("") : `${items.slice(0, -1).join(", ")} and ${items.at(-1)}`;
}
