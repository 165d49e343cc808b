// Compares the calculator with two others, over drawn expressions in one zone: the rules as this repository
// states them, computed anew, and `systemd-analyze calendar` where it is there.
import { spawnSync } from "node:child_process";
import { instantsOfSchedule } from "../src/index.ts";
import { instantsBySpec, zoneClock, type Drawn, type ZoneClock } from "./second-opinion.ts";

export const zones = [
  "UTC",
  "Europe/Berlin",
  "Europe/London",
  "Europe/Chisinau",
  "Atlantic/Azores",
  "America/New_York",
  "America/Los_Angeles",
  "America/St_Johns",
  "America/Havana",
  "America/Santiago",
  "America/Nuuk",
  "America/Sao_Paulo",
  "Africa/Cairo",
  "Africa/Casablanca",
  "Asia/Beirut",
  "Asia/Jerusalem",
  "Asia/Kolkata",
  "Australia/Lord_Howe",
  "Pacific/Chatham",
  "Antarctica/Troll",
] as const;

interface Span {
  readonly fromMs: number;
  readonly untilMs: number;
}

const dayMs = 86_400_000;
/** More instants a year than this are compared around the changes of clocks only. */
const manyAYear = 3_000;
/** With systemd, which is slower. */
const fewAYear = 400;
const nightMs = 3 * 3_600_000;

function calculated(cron: string, zone: string, { fromMs, untilMs }: Span): readonly number[] {
  const { next } = instantsOfSchedule({ kind: "cron", expression: cron, zone });
  const found: number[] = [];
  for (let at = next(fromMs - 1); at !== null && at < untilMs; at = next(at)) found.push(at);
  return found;
}

/** Differences, for example `0 2 * * * Europe/Berlin: 2026-…Z only by the rules`. */
export function againstRules(drawn: Drawn, clock: ZoneClock, span: Span): readonly string[] {
  const differing = spansOf(drawn, clock, span).flatMap((part) =>
    differences(
      calculated(drawn.cron, clock.zone, part),
      instantsBySpec(drawn, clock, part.fromMs, part.untilMs),
    ),
  );
  return differing.map((each) => `${drawn.cron} ${clock.zone}: ${each}`);
}

function spansOf(drawn: Drawn, { changes }: ZoneClock, { fromMs, untilMs }: Span): readonly Span[] {
  const most = 365 * drawn.hours.length * drawn.minutes.length;
  if (most <= manyAYear) return [{ fromMs, untilMs }];
  const days = Math.max(1, Math.min(2, Math.floor((manyAYear / most) * 20)));
  return [
    { fromMs, untilMs: fromMs + 2 * dayMs },
    ...changes.map(({ atMs }) => ({ fromMs: atMs - days * dayMs, untilMs: atMs + days * dayMs })),
  ];
}

function differences(ours: readonly number[], theirs: readonly number[]): readonly string[] {
  const [known, other] = [new Set(ours), new Set(theirs)];
  return [
    ...ours.filter((atMs) => !other.has(atMs)).map((atMs) => `${iso(atMs)} only by the calculator`),
    ...theirs.filter((atMs) => !known.has(atMs)).map((atMs) => `${iso(atMs)} only by the other`),
  ];
}

export function clockOf(zone: string, span: Span): ZoneClock {
  return zoneClock(zone, span.fromMs - 10 * dayMs, span.untilMs + 10 * dayMs);
}

/**
 * Differences from systemd. It has other rules for times that the clocks skip or repeat, so the three hours
 * beside each change are left out.
 */
export function againstSystemd(
  program: string,
  drawn: readonly Drawn[],
  clock: ZoneClock,
  span: Span,
): readonly string[] {
  const said = drawn.filter(({ systemd }) => systemd !== null);
  const few = said.filter((each) => aYear(each) <= fewAYear);
  const many = said.filter((each) => !few.includes(each));
  return [
    ...nightsLeftOut(clock, span).flatMap((part) => inBatches(program, few, clock, part)),
    ...daysSampled(clock, span).flatMap((part) => inBatches(program, many, clock, part)),
  ];
}

/** About how many instants a year it has. */
function aYear({ hours, minutes, days, months, weekdays }: Drawn): number {
  const dates = ((days?.length ?? 31) / 31) * ((weekdays?.length ?? 7) / 7) * ((months?.length ?? 12) / 12);
  return 365 * hours.length * minutes.length * dates;
}

/** The span between the nights of its changes. */
function nightsLeftOut({ changes }: ZoneClock, { fromMs, untilMs }: Span): readonly Span[] {
  const nights = changes.filter(({ atMs }) => atMs > fromMs && atMs < untilMs);
  const starts = [fromMs, ...nights.map(({ atMs }) => atMs + nightMs)];
  const ends = [...nights.map(({ atMs }) => atMs - nightMs), untilMs];
  return starts.map((start, at) => ({ fromMs: start, untilMs: ends[at] ?? untilMs }));
}

/** The days before and after each change without its night, and every two hundredth day. */
function daysSampled(clock: ZoneClock, span: Span): readonly Span[] {
  const parts = nightsLeftOut(clock, span);
  const beside = parts.flatMap((part) => [
    { fromMs: part.fromMs, untilMs: part.fromMs + dayMs },
    { fromMs: part.untilMs - dayMs, untilMs: part.untilMs },
  ]);
  const between = parts.flatMap(({ fromMs, untilMs }) => {
    const days: Span[] = [];
    for (let atMs = fromMs + 100 * dayMs; atMs + 2 * dayMs < untilMs; atMs += 200 * dayMs)
      days.push({ fromMs: atMs, untilMs: atMs + dayMs });
    return days;
  });
  return [...beside, ...between];
}

/** One call for all expressions with about as many instants: each costs a process. */
function inBatches(
  program: string,
  drawn: readonly Drawn[],
  clock: ZoneClock,
  span: Span,
): readonly string[] {
  const asked = drawn.map((each) => ({ each, ours: calculated(each.cron, clock.zone, span) }));
  const bySize = Map.groupBy(asked, ({ ours }) => Math.ceil(Math.log2(ours.length + 1) / 2));
  return [...bySize.values()].flatMap((batch) => {
    // One more than ours, so that one of theirs within the span is seen.
    const count = Math.max(...batch.map(({ ours }) => ours.length)) + 1;
    const theirs = saidBySystemd(
      program,
      batch.map(({ each }) => each.systemd ?? ""),
      clock.zone,
      span.fromMs,
      count,
    );
    return batch.flatMap(({ each, ours }, at) => {
      const others = theirs[at];
      if (others === null || others === undefined) return [];
      const within = others.filter((atMs) => atMs < span.untilMs);
      return differences(ours, within).map((difference) => `${each.cron} ${clock.zone}: ${difference}`);
    });
  });
}

/**
 * For each expression its instants from `fromMs` on, at most `count`. Where systemd gives up on a night
 * behind the span ("Infinite loop in calendar calculation"), what it said before counts; null: it gave up at
 * once.
 */
function saidBySystemd(
  program: string,
  calendars: readonly string[],
  zone: string,
  fromMs: number,
  count: number,
): readonly (readonly number[] | null)[] {
  const { said, stderr, isGivenUp } = callOfSystemd(program, calendars, zone, fromMs, count);
  if (said.length === calendars.length) return said;
  // One of them has no answer at all: which, a call for each tells.
  if (isGivenUp && calendars.length > 1)
    return calendars.flatMap((each) => saidBySystemd(program, [each], zone, fromMs, count));
  if (isGivenUp) return [null];
  throw new Error(`${program}, ${said.length} of ${calendars.length} answers: ${stderr}`);
}

/** The zone stands in the environment: one that is part of an expression costs a process for each instant. */
function callOfSystemd(
  program: string,
  calendars: readonly string[],
  zone: string,
  fromMs: number,
  count: number,
): { readonly said: readonly (readonly number[])[]; readonly stderr: string; readonly isGivenUp: boolean } {
  const base = `${iso(fromMs - 1_000)
    .slice(0, 19)
    .replace("T", " ")} UTC`;
  const { stdout, stderr, status } = spawnSync(
    program,
    ["calendar", `--iterations=${count}`, `--base-time=${base}`, ...calendars],
    { encoding: "utf8", env: { TZ: zone, LC_ALL: "C" }, maxBuffer: 200_000_000 },
  );
  const isGivenUp = stderr.includes("Infinite loop");
  if (status !== 0 && !isGivenUp) throw new Error(`${program}: ${stderr}`);
  const parts = stdout.split(/^ *Normalized form: .*$/m).slice(1);
  const said = parts.map((part) =>
    [...part.matchAll(/(?:elapse|#\d+|in UTC\)): \w+ (\S+ \S+) UTC/g)].map(([, text = ""]) =>
      Date.parse(`${text.replace(" ", "T")}Z`),
    ),
  );
  return { said, stderr, isGivenUp };
}

function iso(atMs: number): string {
  return new Date(atMs).toISOString();
}
