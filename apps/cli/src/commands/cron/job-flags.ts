// Reads the flags of `parley cron add` and `cron edit` into a job in Parley's own form, and says what is
// wrong of them before the gateway is asked.
import { CommandFailure, exitCodes } from "../../exit.ts";
import type { Job } from "./shown-job.ts";

export interface JobFlags {
  readonly name?: string;
  readonly at?: string;
  readonly every?: string;
  readonly cron?: string;
  readonly tz?: string;
  readonly watch?: string;
  readonly debounce?: string;
  readonly message?: string;
  readonly systemEvent?: string;
  readonly session?: string;
  readonly agent?: string;
  readonly model?: string;
  readonly thinking?: string;
  readonly tools?: string;
  readonly lightContext?: boolean;
  readonly timeoutSeconds?: string;
  readonly announce?: boolean;
  /** False with --no-deliver. */
  readonly deliver?: boolean;
  readonly webhook?: string;
  readonly to?: string;
  readonly bestEffortDeliver?: boolean;
  readonly wake?: string;
  readonly misfire?: string;
  readonly overlap?: string;
  readonly catchUp?: string;
  readonly exact?: boolean;
  readonly stagger?: string;
  readonly maxRuns?: string;
  readonly deleteAfterRun?: boolean;
  readonly keepAfterRun?: boolean;
  readonly maxTokensPerDay?: string;
  readonly disabled?: boolean;
}

/** A zone, or settings of a turn, that were named alone join the schedule and the payload that stay. */
export function joined(
  patch: { readonly [field: string]: unknown },
  flags: JobFlags,
  { schedule, payload }: Job,
): { readonly [field: string]: unknown } {
  const turn = turnOf(flags);
  const whole: { [field: string]: unknown } = { ...patch };
  if (flags.tz !== undefined && patch["schedule"] === undefined) {
    if (schedule["kind"] !== "cron") throw wrongUsage("--tz is for --at and --cron: name the time with it");
    whole["schedule"] = { kind: "cron", expression: schedule["expression"], zone: flags.tz };
  }
  if (Object.keys(turn).length > 0 && patch["payload"] === undefined) {
    if (payload["kind"] !== "agentTurn") throw wrongUsage(ofTurns);
    whole["payload"] = { ...payload, ...turn };
  }
  return whole;
}

/** The job as the flags say it, in Parley's own form. */
export function jobOf(flags: JobFlags): { readonly [field: string]: unknown } {
  const { at, every, cron, tz, watch, debounce, message, systemEvent, session, agent } = flags;
  const times = [at, every, cron, watch].filter((each) => each !== undefined);
  if (times.length > 1) throw wrongUsage("name one of --at, --every, --cron and --watch");
  if (debounce !== undefined && watch === undefined) throw wrongUsage("--debounce is for --watch");
  if (tz !== undefined && watch !== undefined) throw wrongUsage("--tz is for --at and --cron");
  if (message !== undefined && systemEvent !== undefined)
    throw wrongUsage("name --message or --system-event, not both");
  if (session !== undefined && !/^(?:main|isolated|current|session:.+)$/.test(session))
    throw wrongUsage(`--session takes main, isolated or session:<key>, not "${session}"`);
  const turn = turnOf(flags);
  if (systemEvent !== undefined && Object.keys(turn).length > 0) throw wrongUsage(ofTurns);
  if (tz !== undefined && every !== undefined) throw wrongUsage(noZone);
  const zone = tz === undefined ? {} : { zone: tz };
  const schedule =
    at !== undefined
      ? { kind: "at", at, ...zone }
      : every !== undefined
        ? { kind: "every", every }
        : cron !== undefined
          ? { kind: "cron", expression: cron, ...zone }
          : watch !== undefined
            ? { kind: "watch", path: watch, ...(debounce === undefined ? {} : { debounce }) }
            : undefined;
  const payload =
    message !== undefined
      ? { kind: "agentTurn", message, ...turn }
      : systemEvent !== undefined
        ? { kind: "systemEvent", text: systemEvent }
        : undefined;
  return kept({
    name: flags.name,
    agent,
    schedule,
    payload,
    target: session,
    delivery: deliveryOf(flags),
    wake: flags.wake,
    misfire: flags.misfire,
    overlap: flags.overlap,
    catchUpMs: flags.catchUp === undefined ? undefined : spanOf("--catch-up", flags.catchUp),
    staggerMs:
      flags.exact === true ? 0 : flags.stagger === undefined ? undefined : spanOf("--stagger", flags.stagger),
    maxRuns: flags.maxRuns === undefined ? undefined : numberOf("--max-runs", flags.maxRuns),
    deleteAfterRun: flags.keepAfterRun === true ? false : flags.deleteAfterRun,
    timeoutSeconds:
      flags.timeoutSeconds === undefined ? undefined : numberOf("--timeout-seconds", flags.timeoutSeconds),
    mostTokensPerDay:
      flags.maxTokensPerDay === undefined
        ? undefined
        : numberOf("--max-tokens-per-day", flags.maxTokensPerDay),
    enabled: flags.disabled === true ? false : undefined,
  });
}

export const noZone =
  "--tz is for --at and --cron: --every counts elapsed time, which has no zone. For a time of day use --cron";

const ofTurns = "--model, --thinking, --tools and --light-context are for --message";

export function turnOf({ model, thinking, tools, lightContext }: JobFlags): {
  readonly [field: string]: unknown;
} {
  return kept({ model, thinking, tools: tools?.split(",").map((name) => name.trim()), lightContext });
}

function deliveryOf({
  webhook,
  deliver,
  to,
  announce,
  bestEffortDeliver: bestEffort,
}: JobFlags): object | undefined {
  const how = bestEffort === true ? { bestEffort } : {};
  if (webhook !== undefined) return { kind: "webhook", url: webhook, ...how };
  if (deliver === false) return { kind: "none" };
  if (to !== undefined) return { kind: "announce", to, ...how };
  if (announce === true) return { kind: "announce", ...how };
  // Of an edit: where it speaks stays as it is.
  return bestEffort === true ? how : undefined;
}

function kept(fields: { readonly [field: string]: unknown }): { readonly [field: string]: unknown } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

export function wrongUsage(says: string): CommandFailure {
  return new CommandFailure("invalid", says, exitCodes.usage);
}

/** The gateway reads expressions, times and places: what it refuses of them was written wrongly here. */
export async function refusedAsUsage<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof CommandFailure) || error.code !== "invalid") throw error;
    throw new CommandFailure(error.code, error.message, exitCodes.usage, { cause: error });
  }
}

export function numberOf(flag: string, text: string): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || number < 1)
    throw wrongUsage(`${flag} takes a whole number from 1 on, not "${text}"`);
  return number;
}

const unitMs: { readonly [unit: string]: number } = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

function spanOf(flag: string, text: string): number {
  const [, number, unit = ""] = /^(\d+)([smhd])$/.exec(text) ?? [];
  if (number === undefined) throw wrongUsage(`${flag} takes a time like "30m", not "${text}"`);
  return Number(number) * (unitMs[unit] ?? 0);
}
