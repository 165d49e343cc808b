// Compares the calculator with two others, over drawn expressions in one zone: the rules as this repository
// states them, computed anew, and `systemd-analyze calendar` where it is there.
import { execFileSync } from "node:child_process";
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
  const aYear = 365 * drawn.hours.length * drawn.minutes.length;
  if (aYear <= manyAYear) return [{ fromMs, untilMs }];
  const days = Math.max(1, Math.min(2, Math.floor((manyAYear / aYear) * 20)));
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
 * Differences from systemd, which names a time that the clocks skip never, one that they repeat once, and
 * knows no hours that go by the clock: those are looked for outside of the nights on which the clocks change.
 */
export function againstSystemd(
  program: string,
  all: readonly Drawn[],
  clock: ZoneClock,
  fromMs: number,
  count: number,
): readonly string[] {
  const said = all.filter(({ systemd }) => systemd !== null);
  const asked = said.map(({ systemd }) => `${systemd} ${clock.zone}`);
  const base = `${iso(fromMs).slice(0, 19).replace("T", " ")} UTC`;
  const output = execFileSync(
    program,
    ["calendar", `--iterations=${count}`, `--base-time=${base}`, ...asked],
    {
      encoding: "utf8",
      env: { TZ: "UTC", LC_ALL: "C" },
      maxBuffer: 200_000_000,
    },
  );
  const parts = output
    .split(/^ *(?:Original form|Normalized form): .*$/m)
    .filter((part) => /elapse/.test(part));
  if (parts.length !== said.length) throw new Error(`${parts.length} answers to ${said.length} questions`);
  return said.flatMap((drawn, at) => {
    const theirs = [...(parts[at] ?? "").matchAll(/(?:elapse|#\d+): \w+ (\S+ \S+) UTC/g)].map(
      ([, text = ""]) => Date.parse(`${text.replace(" ", "T")}Z`),
    );
    const last = theirs.at(-1) ?? fromMs;
    const ours = calculated(drawn.cron, clock.zone, { fromMs: fromMs + 1, untilMs: last + 1 });
    const isNight = (atMs: number): boolean =>
      clock.changes.some(({ atMs: change }) => Math.abs(change - atMs) < 3 * 3_600_000);
    return differences(
      ours.filter((atMs) => !isNight(atMs)),
      theirs.filter((atMs) => !isNight(atMs)),
    ).map((each) => `${drawn.cron} ${clock.zone}: ${each}`);
  });
}

function iso(atMs: number): string {
  return new Date(atMs).toISOString();
}
