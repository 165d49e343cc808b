// Serves schedules to the operator: jobs, their history, what a schedule means. An operator's job has an
// owner's rights and no conversation of its own.
import type { Config } from "@parley/config";
import { Fault, isFault, parseSessionKey, type MethodParams, type MethodResult } from "@parley/protocol";
import { nextOf, sessionOfRuns, type JobMaker, type Schedules } from "@parley/runner";
import { previewOf, type Job } from "@parley/schedules";
import type { StorePorts } from "./ports.ts";

export interface SchedulePorts extends Pick<StorePorts, "schedules" | "work" | "store" | "clock" | "ids"> {
  readonly config: Pick<Config, "agents" | "cron">;
}

const mostLanes = 1_000;

type ShownJob = MethodResult<"cron.get">["job"];

/** The operator as the maker of jobs of this agent. */
export function operatorOf(agent: string): JobMaker {
  return {
    agent,
    kind: "operator",
    sender: null,
    isOwner: true,
    conversation: null,
    session: null,
    turn: null,
    authority: "owner",
    tools: null,
  };
}

/** By id or name. Throws Fault("missing"). */
export async function jobNamed(schedules: Pick<Schedules, "get">, id: string): Promise<Job> {
  return (await schedules.get(id, operatorOf("main"))).job;
}

export function scheduleMethods({ config, schedules, work, store, clock, ids }: SchedulePorts) {
  const agents = config.agents.list.map(({ id }) => id);
  const agent = agents.find((id) => id === "main") ?? agents[0] ?? "main";
  const operator = operatorOf(agent);

  /** The operator where the agent's first owner is, so that a job speaks there unless it says otherwise. */
  async function atHome(asked: { readonly agent?: unknown; readonly agentId?: unknown }): Promise<JobMaker> {
    const named = asked.agent ?? asked.agentId;
    const of = typeof named === "string" && agents.includes(named) ? named : agent;
    const { session, place } = await schedules.homeOf(of);
    return { ...operator, agent: of, session, conversation: place };
  }

  /** The agent that a wake is for. Throws Fault("invalid") for one that there is not. */
  function heardBy(named: string | undefined, session: string | undefined): string | undefined {
    const of = session === undefined ? named : parseSessionKey(session).agent;
    const there = `there are ${agents.join(", ")}`;
    if (of !== undefined && !agents.includes(of))
      throw new Fault(
        "invalid",
        `${session === undefined ? "agent" : "session"}: there is no agent ${JSON.stringify(of)}; ${there}`,
      );
    if (named !== undefined && named !== of)
      throw new Fault(
        "invalid",
        `agent: ${JSON.stringify(session)} is a session of ${JSON.stringify(of)}, not of ${JSON.stringify(named)}. Leave agent out`,
      );
    return of;
  }

  return {
    async "cron.list"(params: MethodParams<"cron.list">): Promise<MethodResult<"cron.list">> {
      const all = await schedules.list(operator);
      const meant = all.filter((job) => params.agent === undefined || job.agent === params.agent);
      return { jobs: meant.map((job) => shown(job, clock.now())) };
    },
    async "cron.get"({ id }: MethodParams<"cron.get">): Promise<MethodResult<"cron.get">> {
      return { job: shown((await schedules.get(id, operator)).job, clock.now()) };
    },
    async "cron.add"({ job }: MethodParams<"cron.add">): Promise<MethodResult<"cron.add">> {
      return { job: shown(await schedules.add(job, await atHome(job)), clock.now()) };
    },
    async "cron.update"({
      id,
      patch,
      version,
    }: MethodParams<"cron.update">): Promise<MethodResult<"cron.update">> {
      return { job: shown(await schedules.edit(id, patch, operator, version), clock.now()) };
    },
    async "cron.remove"({ id }: MethodParams<"cron.remove">): Promise<MethodResult<"cron.remove">> {
      const removed = await schedules.remove(id, operator);
      return { id: removed.id, name: removed.name };
    },
    async "cron.run"({ id, idempotencyKey }: MethodParams<"cron.run">): Promise<MethodResult<"cron.run">> {
      const { job } = await schedules.get(id, operator);
      return {
        id: job.id,
        run: await schedules.run(job.id, operator, idempotencyKey ?? ids.uuid().slice(0, 8)),
      };
    },
    async "cron.runs"({ id, limit = 50 }: MethodParams<"cron.runs">): Promise<MethodResult<"cron.runs">> {
      const jobId = await idOf(id);
      const { now, ended } = await schedules.runs(jobId, limit);
      return { id: jobId, now: [...now], runs: ended.map(({ v: _v, job: _job, ...run }) => run) };
    },
    async wake({
      text,
      mode = "now",
      agent: of,
      session,
      idempotencyKey,
    }: MethodParams<"wake">): Promise<MethodResult<"wake">> {
      const by = await atHome({ agent: heardBy(of, session) });
      const row = await schedules.wake({ text, mode, session }, by, idempotencyKey ?? ids.uuid());
      await schedules.tell(row, by.agent, mode);
      return { id: row.id, session: row.lane, mode };
    },
    async "cron.status"(_params: MethodParams<"cron.status">): Promise<MethodResult<"cron.status">> {
      const nowMs = clock.now();
      const { jobs, unreadable } = await schedules.jobs.list();
      const all = jobs.map(({ job }) => ({ job, nextMs: nextOf(job, nowMs) }));
      const [next] = all
        .filter((each) => each.nextMs !== null)
        .toSorted((a, b) => (a.nextMs ?? 0) - (b.nextMs ?? 0));
      const nextAtMs = next?.nextMs ?? null;
      return {
        enabled: config.cron.enabled,
        zone: schedules.zone,
        jobs: all.length,
        switchedOff: all.filter(({ job }) => !job.enabled).length,
        paused: all.filter(({ job }) => job.state.paused !== null).length,
        running: (await store.turns.list("cron", mostLanes)).filter(({ holder }) => holder !== null).length,
        slots: work.slotsNow(),
        failing: all.filter(({ job }) => job.state.consecutiveErrors > 0).length,
        nextAtMs,
        nextAt: iso(nextAtMs),
        nextJob: next?.job.id ?? null,
        unreadable: [...unreadable],
      };
    },
  };

  /** A job that went away after its last run is asked for by its id: its history stays a while. */
  async function idOf(id: string): Promise<string> {
    try {
      return (await schedules.get(id, operator)).job.id;
    } catch (error) {
      if (isFault(error, "missing") && (await schedules.log.list(id, 1)).length > 0) return id;
      throw error;
    }
  }
}

function iso(atMs: number | null): string | null {
  return atMs === null ? null : new Date(atMs).toISOString();
}

function shown(job: Job, nowMs: number): ShownJob {
  const { state, owner, schedule, payload, target, delivery } = job;
  const { kind, sender, isOwner, session } = owner;
  const nextAtMs = nextOf(job, nowMs);
  return {
    id: job.id,
    name: job.name,
    agent: job.agent,
    enabled: job.enabled,
    paused: state.paused?.reason ?? null,
    words: previewOf(schedule, nowMs, 1).words,
    schedule: { ...schedule },
    payload: { ...payload },
    target: { ...target },
    session: sessionOfRuns(job),
    delivery: { ...delivery },
    wake: job.wake,
    misfire: job.misfire,
    overlap: job.overlap,
    staggerMs: job.staggerMs,
    catchUpMs: job.catchUpMs,
    maxRuns: job.maxRuns,
    deleteAfterRun: job.deleteAfterRun,
    timeoutSeconds: job.timeoutSeconds,
    mostTokensPerDay: job.mostTokensPerDay,
    version: job.version,
    createdAtMs: job.createdAtMs,
    editedAtMs: job.editedAtMs,
    owner: { kind, sender, isOwner, session },
    nextAtMs,
    nextAt: iso(nextAtMs),
    runs: state.runs,
    missed: state.missed,
    consecutiveErrors: state.consecutiveErrors,
    last: state.last,
  };
}
