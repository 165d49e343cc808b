// `parley cron`: jobs, what became of their instants, and what a schedule means.
import type { MethodResult } from "@parley/protocol";
import { document, line, words, type Console } from "../console.ts";
import { CommandFailure, exitCodes, type ExitCode } from "../exit.ts";
import { withState } from "../with-gateway.ts";

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

type Job = MethodResult<"cron.get">["job"];

export async function cronList(terminal: Console, agent: string | undefined): Promise<ExitCode> {
  const found = await withState(terminal, (client) =>
    client.request("cron.list", agent === undefined ? {} : { agent }),
  );
  if (terminal.json) document(terminal.out, found);
  else if (found.jobs.length === 0) line(terminal.out, "There are no jobs. `parley cron add` makes one.");
  else for (const job of found.jobs) line(terminal.out, jobLine(job));
  return exitCodes.ok;
}

export async function cronGet(terminal: Console, id: string): Promise<ExitCode> {
  return shown(terminal, await withState(terminal, (client) => client.request("cron.get", { id })));
}

export async function cronAdd(terminal: Console, flags: JobFlags): Promise<ExitCode> {
  const job = jobOf(flags);
  if (job["schedule"] === undefined) throw wrongUsage("name one of --at, --every, --cron and --watch");
  if (job["payload"] === undefined) throw wrongUsage("name --message or --system-event");
  const made = await refusedAsUsage(() =>
    withState(terminal, (client) => client.request("cron.add", { job })),
  );
  return shown(terminal, made);
}

export async function cronEdit(
  terminal: Console,
  id: string,
  { ifVersion, ...flags }: JobFlags & { readonly ifVersion?: string },
): Promise<ExitCode> {
  const version = ifVersion === undefined ? {} : { version: numberOf("--if-version", ifVersion) };
  const patch = jobOf(flags);
  const isPart = flags.tz !== undefined || Object.keys(turnOf(flags)).length > 0;
  if (Object.keys(patch).length === 0 && !isPart)
    throw wrongUsage("nothing to change is named: parley cron edit --help");
  const edited = await refusedAsUsage(() =>
    withState(terminal, async (client) => {
      const whole = isPart ? joined(patch, flags, (await client.request("cron.get", { id })).job) : patch;
      return client.request("cron.update", { id, patch: whole, ...version });
    }),
  );
  return shown(terminal, edited);
}

/** A zone, or settings of a turn, that were named alone join the schedule and the payload that stay. */
function joined(
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

export async function cronSwitch(terminal: Console, id: string, enabled: boolean): Promise<ExitCode> {
  return shown(
    terminal,
    await withState(terminal, (client) => client.request("cron.update", { id, patch: { enabled } })),
  );
}

export async function cronRemove(terminal: Console, id: string): Promise<ExitCode> {
  const removed = await withState(terminal, (client) => client.request("cron.remove", { id }));
  if (terminal.json) document(terminal.out, removed);
  else line(terminal.out, `Removed ${removed.id} (${removed.name}).`);
  return exitCodes.ok;
}

export async function cronRun(terminal: Console, id: string): Promise<ExitCode> {
  const begun = await withState(terminal, (client) => client.request("cron.run", { id }));
  if (terminal.json) document(terminal.out, begun);
  else line(terminal.out, `Run ${begun.run} waits for its turn. \`parley cron runs ${begun.id}\` shows it.`);
  return exitCodes.ok;
}

export async function cronRuns(terminal: Console, id: string, limit: string): Promise<ExitCode> {
  const found = await withState(terminal, (client) =>
    client.request("cron.runs", { id, limit: numberOf("--limit", limit) }),
  );
  if (terminal.json) {
    document(terminal.out, found);
    return exitCodes.ok;
  }
  if (found.now.length + found.runs.length === 0) line(terminal.out, "It has not run yet.");
  for (const { slot, state, instantMs } of found.now)
    line(terminal.out, `${isoOf(instantMs)}  ${state}  ${slot}`);
  for (const {
    instantMs,
    outcome,
    reason,
    count,
    tokens,
    startedAtMs,
    endedAtMs,
    said,
    slot,
  } of found.runs) {
    const took = startedAtMs === null ? [] : [`${Math.round((endedAtMs - startedAtMs) / 1000)} s`];
    const facts = [
      outcome,
      ...(count > 1 ? [`${count === 100 ? "100 or more" : count} instants`] : []),
      ...took,
      ...(tokens > 0 ? [`${tokens} tokens`] : []),
      ...(reason === null ? [] : [reason]),
    ];
    line(terminal.out, `${isoOf(instantMs)}  ${facts.join(", ")}  ${slot}`);
    if (said !== "") line(terminal.out, `    ${said.slice(0, 120).replaceAll("\n", " ")}`);
  }
  return exitCodes.ok;
}

export async function cronStatus(terminal: Console): Promise<ExitCode> {
  const status = await withState(terminal, (client) => client.request("cron.status", {}));
  if (terminal.json) {
    document(terminal.out, status);
    return exitCodes.ok;
  }
  const { enabled, jobs, switchedOff, paused, failing, running, nextAt, nextJob, zone, unreadable } = status;
  line(terminal.out, `Schedules are ${enabled ? "on" : "off (cron.enabled)"}; the zone is ${zone}.`);
  line(
    terminal.out,
    `${jobs} jobs, ${switchedOff} switched off, ${paused} paused, ${failing} failing; ${running} runs at work.`,
  );
  line(terminal.out, slotWords(status.slots));
  line(terminal.out, nextAt === null ? "Nothing is due." : `Next: ${nextJob ?? ""} at ${nextAt}.`);
  if (unreadable.length > 0)
    line(terminal.out, `Written by another version of Parley: ${unreadable.join(", ")}`);
  return exitCodes.ok;
}

/** For example "Since the gateway started: 12 fired (0.4 s late at most), 2 missed (policy)." */
function slotWords({ fired, mostLateSeconds, ...rest }: MethodResult<"cron.status">["slots"]): string {
  const late = fired === 0 ? "" : ` (${mostLateSeconds.toFixed(1)} s late at most)`;
  const others = (["skipped", "missed"] as const).flatMap((what) =>
    Object.entries(rest[what]).flatMap(([why, count]) => (count === 0 ? [] : [`${count} ${what} (${why})`])),
  );
  return `Since the gateway started: ${[`${fired} fired${late}`, ...others].join(", ")}.`;
}

export async function cronExplain(
  terminal: Console,
  schedule: string | undefined,
  { cron, every, at, tz, watch, count = "10", from }: { readonly [name: string]: string | undefined },
): Promise<ExitCode> {
  const named = cron ?? every ?? at ?? watch;
  if (every !== undefined && tz !== undefined) throw wrongUsage(noZone);
  const isExpression = schedule !== undefined && (/\s/.test(schedule.trim()) || schedule.startsWith("@"));
  if (named === undefined && schedule === undefined)
    throw wrongUsage('name a job, or a schedule: parley cron explain "0 9 * * 1-5" --tz Europe/Berlin');
  const written = {
    ...(cron !== undefined ? { kind: "cron", expression: cron } : {}),
    ...(every !== undefined ? { kind: "every", every } : {}),
    ...(at !== undefined ? { kind: "at", at } : {}),
    ...(watch !== undefined ? { kind: "watch", path: watch } : {}),
    ...(named === undefined && isExpression ? { kind: "cron", expression: schedule } : {}),
    ...(tz === undefined ? {} : { zone: tz }),
  };
  const explained = await refusedAsUsage(() =>
    withState(terminal, (client) =>
      client.request("cron.explain", {
        ...(named === undefined && !isExpression && schedule !== undefined
          ? { id: schedule }
          : { schedule: written }),
        count: numberOf("--count", count),
        ...(from === undefined ? {} : { from }),
      }),
    ),
  );
  if (terminal.json) {
    document(terminal.out, explained);
    return exitCodes.ok;
  }
  line(terminal.out, explained.words);
  for (const { iso, local } of explained.next) line(terminal.out, `  ${local.padEnd(40)}  ${iso}`);
  if (explained.staggerMs > 0)
    line(terminal.out, `  each spread by up to ${explained.staggerMs / 1000} s (--exact: not at all)`);
  if (explained.files !== undefined) line(terminal.out, `  it means ${explained.files} files now`);
  else if (explained.next.length === 0) line(terminal.out, "  It never comes.");
  return exitCodes.ok;
}

export async function cronWake(
  terminal: Console,
  text: string,
  { mode, agent, session }: { readonly mode: string; readonly agent?: string; readonly session?: string },
): Promise<ExitCode> {
  if (mode !== "now" && mode !== "next-heartbeat")
    throw wrongUsage(`--mode takes now or next-heartbeat, not "${mode}"`);
  const told = await withState(terminal, (client) =>
    client.request("wake", {
      text,
      mode,
      ...(agent === undefined ? {} : { agent }),
      ...(session === undefined ? {} : { session }),
    }),
  );
  if (terminal.json) document(terminal.out, told);
  else line(terminal.out, `Told to ${told.session} as ${told.id}.`);
  return exitCodes.ok;
}

/** The job as the flags say it, in Parley's own form. */
function jobOf(flags: JobFlags): { readonly [field: string]: unknown } {
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

const noZone =
  "--tz is for --at and --cron: --every counts elapsed time, which has no zone. For a time of day use --cron";
const ofTurns = "--model, --thinking, --tools and --light-context are for --message";

function turnOf({ model, thinking, tools, lightContext }: JobFlags): { readonly [field: string]: unknown } {
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

function wrongUsage(says: string): CommandFailure {
  return new CommandFailure("invalid", says, exitCodes.usage);
}

/** The gateway reads expressions, times and places: what it refuses of them was written wrongly here. */
async function refusedAsUsage<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof CommandFailure) || error.code !== "invalid") throw error;
    throw new CommandFailure(error.code, error.message, exitCodes.usage, { cause: error });
  }
}

function numberOf(flag: string, text: string): number {
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

function shown(terminal: Console, { job }: { readonly job: Job }): ExitCode {
  if (terminal.json) {
    document(terminal.out, { job });
    return exitCodes.ok;
  }
  const { id, name, payload, session, delivery, misfire, overlap, nextAt, last, version } = job;
  line(terminal.out, `${id}  ${name}  (version ${version})`);
  line(terminal.out, `  when      ${job.words}${job.enabled ? "" : " (switched off)"}`);
  if (job.paused !== null) line(terminal.out, `  paused    ${job.paused}`);
  line(terminal.out, `  next      ${nextAt ?? nextWithoutInstant(job) ?? "never, as it is now"}`);
  words(
    terminal.out,
    `  does      ${textOf(payload["kind"])}: ${textOf(payload["message"] ?? payload["text"])}`.replaceAll(
      "\n",
      "\n            ",
    ),
  );
  line(terminal.out, `  in        ${session}`);
  line(terminal.out, `  tells     ${tells(delivery)}`);
  line(terminal.out, `  misfire   ${misfire}, overlap ${overlap}`);
  line(terminal.out, `  runs      ${job.runs}, missed ${job.missed}`);
  if (last !== null)
    line(
      terminal.out,
      `  last      ${isoOf(last.instantMs)} ${last.outcome}${last.reason === null ? "" : `: ${last.reason}`}`,
    );
  return exitCodes.ok;
}

function nextWithoutInstant({ schedule, enabled, paused, maxRuns, runs }: Job): string | null {
  if (maxRuns !== null && runs >= maxRuns) return `never: it has run ${runs} of ${maxRuns} times`;
  return schedule["kind"] === "watch" && enabled && paused === null ? "when a file changes" : null;
}

function jobLine(job: Job): string {
  const { id, name, words: when, enabled, paused, nextAt, last } = job;
  const state = !enabled
    ? "switched off"
    : paused !== null
      ? `paused: ${paused}`
      : `next ${nextAt ?? nextWithoutInstant(job) ?? "never"}`;
  return `${id}  ${name}  ${when}  ${state}${last === null ? "" : `  last ${last.outcome}`}`;
}

function tells(delivery: Job["delivery"]): string {
  const { kind, to, url } = delivery as {
    readonly kind: string;
    readonly to?: {
      readonly channel: string;
      readonly account: string;
      readonly kind: string;
      readonly peer: string;
    };
    readonly url?: string;
  };
  if (to !== undefined) return `${to.channel}:${to.account}:${to.kind}:${to.peer}`;
  return kind === "webhook" ? `webhook ${url ?? ""}` : "nobody";
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function isoOf(atMs: number): string {
  return new Date(atMs).toISOString();
}
