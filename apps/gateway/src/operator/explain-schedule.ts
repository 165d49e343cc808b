// Tells an operator what a schedule means, in words and by its next instants. One that is written out needs
// the config's zone alone: no job is made, and no database is opened.
import type { Config } from "@parley/config";
import { Fault, type Clock, type MethodParams, type MethodResult } from "@parley/protocol";
import { problems } from "@parley/runner";
import { asWritten, newJob, previewOf, zoneOf, type Job } from "@parley/schedules";
import { watchedFiles } from "../schedules/watched-files.ts";
import { operatorOf } from "./schedules.ts";

export interface ExplainPorts {
  readonly config: Pick<Config, "agents" | "cron">;
  /** A job that is kept. Throws Fault where there is no such job. */
  readonly jobNamed: (id: string) => Promise<Explained>;
  readonly clock: Clock;
}

type Explained = Pick<Job, "agent" | "schedule" | "staggerMs">;

export function explainMethods({ config, jobNamed, clock }: ExplainPorts) {
  const { list, defaults } = config.agents;
  const agent = (list.find(({ id }) => id === "main") ?? list[0])?.id ?? "main";

  function written(asked: object): Explained {
    const { agent: _agent, ...owner } = operatorOf(agent);
    const decided = newJob(asWritten({ schedule: asked, message: "explain", name: "explain" }, true), {
      nowMs: clock.now(),
      zone: config.cron.timezone ?? defaults.userTimezone,
      id: "explain",
      agent,
      owner,
    });
    if (!decided.ok) throw problems(decided.problems);
    return decided.job;
  }

  async function filesIn({ agent: of, schedule }: Explained): Promise<{ readonly files?: number }> {
    const workspace = list.find(({ id }) => id === of)?.workspace;
    if (schedule.kind !== "watch" || workspace === undefined) return {};
    const found = await watchedFiles(workspace, schedule.path);
    return typeof found === "string" ? {} : { files: found.files.length };
  }

  return {
    async "cron.explain"({
      id,
      schedule: asked,
      count = 10,
      from,
    }: MethodParams<"cron.explain">): Promise<MethodResult<"cron.explain">> {
      const fromMs = from === undefined ? clock.now() : Date.parse(from);
      if (Number.isNaN(fromMs))
        throw new Fault("invalid", `from ${JSON.stringify(from)} is no date: write "2026-03-29T00:00:00Z"`);
      const meant = id === undefined ? written(asked ?? {}) : await jobNamed(id);
      const { schedule, staggerMs } = meant;
      const { words } = previewOf(schedule, fromMs, 1);
      const { next } = previewOf(schedule, fromMs, count);
      return { words, zone: zoneOf(schedule), ...(await filesIn(meant)), staggerMs, next: [...next] };
    },
  };
}
