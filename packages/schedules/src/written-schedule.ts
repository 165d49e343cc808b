// Turns a schedule as people and models write it into the one that a job keeps, or refuses it with the path,
// the value and the fix: dates in the past or that do not exist, expressions that never come, unknown zones.
import { z } from "zod";
import { expressionInstants, expressionMistake } from "./expression.ts";
import { scheduleSchema, type Schedule } from "./job.ts";
import { firstInstantFrom, instantsOf, localText, zoneNamed } from "./zones.ts";

/** What is wrong with one field of a job. */
export interface Problem {
  readonly path: string;
  readonly value: unknown;
  readonly why: string;
  readonly fix: string;
}

export const writtenScheduleSchema = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("at"),
    at: z
      .union([z.string(), z.int()])
      .describe('A date and time ("2026-12-24T09:00", read in `zone`, or with "Z" or "+01:00"), or "20m".'),
    zone: z.string().exactOptional(),
  }),
  z.object({
    kind: z.literal("every"),
    every: z.union([z.string(), z.int()]).describe('A span such as "30m" or "1h30m", or milliseconds.'),
    anchorMs: z.int().exactOptional().describe("The first instant. Default: one span from now."),
    zone: z.string().exactOptional(),
  }),
  z.object({
    kind: z.literal("cron"),
    expression: z
      .string()
      .describe("Five fields (minute hour day month weekday), six with seconds, or @daily."),
    zone: z.string().exactOptional().describe('An IANA name like "Europe/Berlin".'),
  }),
  z.object({
    kind: z.literal("watch"),
    path: z.string().describe('A file, a folder or a pattern of the workspace, such as "inbox/*.md".'),
    debounce: z
      .union([z.string(), z.int()])
      .exactOptional()
      .describe('How long the files must be quiet: "5s", or milliseconds. Default: 5s.'),
    zone: z.string().exactOptional(),
  }),
]);

export type WrittenSchedule = z.infer<typeof writtenScheduleSchema>;

export interface WritingContext {
  readonly nowMs: number;
  /** The zone of whoever writes, for schedules that name none. */
  readonly zone: string;
}

type Read<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: Problem };

const dateForm =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,3})\d*)?)?)?\s*(Z|[+-]\d\d:?\d\d)?$/i;
const unitWords =
  /(\d+)\s*(ms|s(?:ec(?:ond)?s?)?|m(?:in(?:ute)?s?)?|h(?:(?:ou)?rs?)?|d(?:ays?)?|w(?:eeks?)?)(?![a-z])\s*/gi;
const unitMs: { readonly [unit: string]: number } = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};
const usualDebounceMs = 5_000;
/** What lies further ahead is a mistake of units rather than a plan. */
const furthestMs = 100 * 366 * 86_400_000;

export function readSchedule(written: WrittenSchedule, context: WritingContext): Read<Schedule> {
  if (written.kind === "watch") return readWatch(written);
  if (written.kind === "every")
    return written.zone === undefined
      ? readEvery(written, context)
      : refused(
          "schedule.tz",
          written.zone,
          "has no meaning for elapsed time",
          'leave it out, or use the kind cron for a time of day, for example "0 9 * * *"',
        );
  const asked = written.zone ?? context.zone;
  const zone = zoneNamed(asked);
  if (zone === null)
    return refused(
      "schedule.zone",
      asked,
      "is no time zone",
      'use an IANA name like "Europe/Berlin" or "UTC"',
    );
  if (written.kind === "at") return readAt(written.at, zone, context.nowMs);
  const mistake = expressionMistake(written.expression);
  if (mistake !== null) return refused("schedule.expression", written.expression, mistake.why, mistake.fix);
  const expression = written.expression.trim();
  if (expressionInstants(expression, zone).next(context.nowMs) === null)
    return refused(
      "schedule.expression",
      expression,
      "never comes: no date has this day, month and weekday",
      'name a date that exists; for the last day of a month write L, as in "0 9 L * *"',
    );
  return valid({ kind: "cron", expression, zone });
}

function readWatch({
  path: given,
  debounce = usualDebounceMs,
  zone,
}: Extract<WrittenSchedule, { readonly kind: "watch" }>): Read<Schedule> {
  if (zone !== undefined)
    return refused("schedule.tz", zone, "has no meaning for a change of files", "leave it out");
  const parts = given.trim().split("/");
  const inner = parts.filter((part) => part !== "" && part !== ".");
  const form =
    'name a file, a folder or a pattern from the workspace on, such as "inbox", "notes/*.md" or "**/*.csv"';
  if (given.trim().startsWith("/") || given.trim().startsWith("~") || inner.includes(".."))
    return refused("schedule.path", given, "is not within the agent's workspace", form);
  const path = inner.join("/");
  if (path === "" || path.length > 300 || given.includes("\0"))
    return refused("schedule.path", given, "names no file", form);
  const debounceMs = typeof debounce === "number" ? debounce : spanMs(debounce);
  const parsed = scheduleSchema.safeParse({ kind: "watch", path, debounceMs });
  return parsed.success
    ? valid(parsed.data)
    : refused(
        "schedule.debounce",
        debounce,
        "is no span between 100 ms and 1 hour",
        'write for example "5s"',
      );
}

function readEvery(
  { every, anchorMs }: Extract<WrittenSchedule, { readonly kind: "every" }>,
  { nowMs }: WritingContext,
): Read<Schedule> {
  const everyMs = typeof every === "number" ? every : spanMs(every);
  if (anchorMs !== undefined && (anchorMs < 0 || anchorMs > nowMs + furthestMs))
    return refused(
      "schedule.anchorMs",
      anchorMs,
      "is no instant within 100 years",
      "leave it out, or write milliseconds since 1970",
    );
  const schedule = { kind: "every", everyMs, anchorMs: anchorMs ?? nowMs + (everyMs ?? 0) };
  const parsed = scheduleSchema.safeParse(schedule);
  return parsed.success
    ? valid(parsed.data)
    : refused(
        "schedule.every",
        every,
        "is no span of time between 1 s and 366 days",
        'write for example "30m", "1h30m" or "2d"',
      );
}

function readAt(at: string | number, zone: string, nowMs: number): Read<Schedule> {
  const read = typeof at === "number" ? valid(at) : instantIn(at.trim(), zone, nowMs);
  if (!read.ok) return read;
  const atMs = read.value;
  const path = "schedule.at";
  const now = localText(nowMs, zone);
  if (atMs <= nowMs)
    return refused(path, at, "is past", `name an instant after ${now} ${zone}, or a span like "20m"`);
  if (atMs > nowMs + furthestMs)
    return refused(path, at, "is more than 100 years ahead", `count from ${now} ${zone}, in milliseconds`);
  return valid({ kind: "at", atMs, zone });
}

function instantIn(text: string, zone: string, nowMs: number): Read<number> {
  const span = spanMs(text);
  if (span !== null) return valid(nowMs + span);
  const path = "schedule.at";
  const form = 'write for example "2026-12-24T09:00", "2026-12-24T09:00+01:00" or "20m"';
  const found = dateForm.exec(text);
  if (found === null) return refused(path, text, "is no date and time", form);
  const [, year, month, day, hour, minute, second = "0", fraction = "0", offset] = found;
  if (hour === undefined || minute === undefined)
    return refused(path, text, "has no time of day", `add one: "${year}-${month}-${day}T09:00"`);
  const numbers = [year, month, day, hour, minute, second].map(Number);
  const [y = 0, mo = 0, d = 0, h = 0, mi = 0, s = 0] = numbers;
  const local = Date.UTC(y, mo - 1, d, h, mi, s, Number(fraction.padEnd(3, "0")));
  const again = new Date(local);
  const back = [again.getUTCFullYear(), again.getUTCMonth() + 1, again.getUTCDate()];
  const backTime = [again.getUTCHours(), again.getUTCMinutes(), again.getUTCSeconds()];
  if ([...back, ...backTime].some((number, index) => number !== numbers[index]))
    return refused(path, text, "is a date or time that does not exist", form);
  if (offset !== undefined)
    return isOffset(offset)
      ? valid(local - offsetMs(offset))
      : refused(path, text, `has an offset that no zone has: ${offset}`, form);
  const [first] = instantsOf(local, zone);
  if (first !== undefined) return valid(first);
  const next = localText(firstInstantFrom(local, zone), zone);
  return refused(path, text, `does not exist in ${zone}: the clocks skip it`, `the next time is "${next}"`);
}

/** Clocks of the world are between 12 hours behind and 14 before UTC. */
function isOffset(text: string): boolean {
  const hours = offsetMs(text) / 3_600_000;
  return hours >= -12 && hours <= 14 && !(Number(text.slice(-2)) >= 60);
}

function offsetMs(text: string): number {
  if (text.toUpperCase() === "Z") return 0;
  const [hours, minutes] = [text.slice(1, 3), text.slice(-2)].map(Number);
  return (text.startsWith("-") ? -1 : 1) * ((hours ?? 0) * 60 + (minutes ?? 0)) * 60_000;
}

/** Milliseconds of "30m", "1h30m", "2d" or "in 20 minutes"; null for what is no span. */
export function spanMs(text: string): number | null {
  const parts = text.trim().replace(/^in\s+/i, "");
  if (parts === "" || parts.replaceAll(unitWords, "") !== "") return null;
  return [...parts.matchAll(unitWords)].reduce((sum, [, number, word = ""]) => {
    const unit = word.toLowerCase();
    return sum + Number(number) * (unitMs[unit === "ms" ? unit : unit.slice(0, 1)] ?? 0);
  }, 0);
}

function valid<T>(value: T): Read<T> {
  return { ok: true, value };
}

function refused(path: string, value: unknown, why: string, fix: string): Read<never> {
  return { ok: false, problem: { path, value, why, fix } };
}
