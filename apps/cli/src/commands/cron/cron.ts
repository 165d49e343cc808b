// `parley cron`: jobs, what became of their instants, and what a schedule means.
import type { MethodResult } from "@parley/protocol";
import { document, line, type Console } from "../../console.ts";
import { exitCodes, type ExitCode } from "../../exit.ts";
import { withState } from "../../with-gateway.ts";
import { jobLine, shown, isoOf } from "./shown-job.ts";
import {
  type JobFlags,
  jobOf,
  wrongUsage,
  refusedAsUsage,
  numberOf,
  turnOf,
  joined,
  noZone,
} from "./job-flags.ts";

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
  if (named !== undefined && schedule !== undefined)
    throw wrongUsage(`name "${schedule}", or a schedule by its flag, not both`);
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
