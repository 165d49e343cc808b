// Shows a job to a person, whole or as one line of a list.
import type { MethodResult } from "@parley/protocol";
import { type Console, document, line, words } from "../../console.ts";
import { type ExitCode, exitCodes } from "../../exit.ts";

export type Job = MethodResult<"cron.get">["job"];

export function shown(terminal: Console, { job }: { readonly job: Job }): ExitCode {
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

export function jobLine(job: Job): string {
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

export function isoOf(atMs: number): string {
  return new Date(atMs).toISOString();
}
