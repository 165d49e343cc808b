// Makes a job, or the next version of one, from what somebody asked for: with a plan that comes up, models
// and tools that there are, and no more rights than whoever asks has. It stores nothing.
import type { MayReach } from "@parley/access";
import { Fault, parseSessionKey, type Clock } from "@parley/protocol";
import { asEdited, editedJob, newJob, type Job } from "@parley/schedules";
import { askedJob, checkTools, problems, withModels, type ModelNamed } from "./asked-job.ts";
import { checkAllowed, type JobMaker } from "./job-maker.ts";
import { withBaseline, type FilesOf } from "./watch-baseline.ts";

export interface CheckedJobsOptions {
  readonly agents: readonly string[];
  readonly zone: string;
  readonly reach: MayReach;
  readonly modelNamed: ModelNamed;
  readonly filesOf: FilesOf;
  /** Of names, groups and patterns of tools, those that mean none. */
  readonly unknownTools: (named: readonly string[]) => readonly string[];
  readonly clock: Clock;
}

/** Both throw Fault with every mistake, its value and its fix. */
export function checkedJobs(options: CheckedJobsOptions) {
  const { agents, zone, reach, modelNamed, filesOf, unknownTools, clock } = options;

  function checkSession({ target }: Job): void {
    if (target.kind !== "session") return;
    const { agent } = parseSessionKey(target.session);
    if (!agents.includes(agent))
      throw new Fault(
        "invalid",
        `target.session: ${JSON.stringify(target.session)} is a session of ${JSON.stringify(agent)}, and there is no such agent; there are ${agents.join(", ")}`,
      );
  }

  async function made(asked: unknown, by: JobMaker, id: string): Promise<Job> {
    const agent = agentIn(asked) ?? by.agent;
    if (!agents.includes(agent))
      throw new Fault(
        "invalid",
        `agentId: there is no agent ${JSON.stringify(agent)}; there are ${agents.join(", ")}`,
      );
    if (agent !== by.agent && !by.isOwner)
      throw new Fault("denied", "agentId: only an owner's job may be another agent's");
    const { agent: _agent, ...owner } = by;
    const form = await askedJob(asked, by, { isNew: true, reach });
    const decided = newJob(form, { nowMs: clock.now(), zone, id, agent, owner });
    if (!decided.ok) throw problems(decided.problems);
    checkAllowed(decided.job, by);
    checkSession(decided.job);
    checkTools(decided.job, unknownTools);
    return withBaseline(await withModels(decided.job, modelNamed), null, filesOf);
  }

  /** The next version of a job that this maker may change. Throws as `made` does. */
  async function next(before: Job, asked: unknown, by: JobMaker): Promise<Job> {
    const agent = agentIn(asked) ?? before.agent;
    if (agent !== before.agent)
      throw new Fault(
        "invalid",
        `agentId: a job stays with its agent, here ${JSON.stringify(before.agent)}. Fix: make another job for ${JSON.stringify(agent)} and remove this one`,
      );
    // What an edit says is done with the rights of whoever edits, where those are narrower.
    const form = await askedJob(asEdited(asked, before), by, { isNew: false, reach });
    const decided = editedJob(before, form, { nowMs: clock.now(), zone });
    if (!decided.ok) throw problems(decided.problems);
    checkAllowed(decided.job, by);
    if (decided.job.target !== before.target) checkSession(decided.job);
    checkTools(decided.job, unknownTools, before);
    const job = await withModels(decided.job, modelNamed, before);
    const after = await withBaseline(job, before, filesOf);
    const { untrusted } = by;
    return untrusted === undefined ? after : { ...after, owner: { ...after.owner, untrusted } };
  }

  return { made, next };
}

function agentIn(asked: unknown): string | undefined {
  if (typeof asked !== "object" || asked === null) return undefined;
  const { agentId, agent = agentId } = asked as { readonly agentId?: unknown; readonly agent?: unknown };
  return typeof agent === "string" ? agent : undefined;
}
