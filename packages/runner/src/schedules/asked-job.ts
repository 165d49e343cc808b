// Reads a job as people and models wrote it, before it is checked: names that mean the same, its place, and
// its models, whose aliases are resolved once, so that a later change of the config moves no job by itself.
import type { MayReach } from "@parley/access";
import { conversationKey, Fault } from "@parley/protocol";
import { asWritten, type Job, type Problem } from "@parley/schedules";
import { catalogue } from "@parley/tools";
import { addressIn } from "./address-in.ts";
import type { JobMaker } from "./job-maker.ts";

/** Returns the reference of a model that may be called. Throws Fault("invalid") with the names that exist. */
export type ModelNamed = (agent: string, word: string) => Promise<string>;

/**
 * The form that `newJob` and `editedJob` check. Throws Fault("denied") for a place that is not the maker's to
 * use.
 */
export async function askedJob(
  asked: unknown,
  by: JobMaker,
  { isNew, reach }: { readonly isNew: boolean; readonly reach: MayReach },
): Promise<unknown> {
  const form = asWritten(asked, isNew);
  if (typeof form !== "object" || form === null) return form;
  const { agentId: _agentId, agent: _agent, delivery, ...rest } = form as { readonly [key: string]: unknown };
  if (typeof delivery !== "object" || delivery === null || !("to" in delivery))
    return delivery === undefined ? rest : { ...rest, delivery };
  const to = addressIn(delivery.to, by);
  const isOwn = by.conversation !== null && conversationKey(to) === conversationKey(by.conversation);
  if (!isOwn) {
    if (!by.isOwner)
      throw new Fault(
        "denied",
        "delivery.to: only an owner's job may speak in another conversation: leave it out",
      );
    const refused = await reach({ address: to });
    if (refused !== null)
      throw new Fault("denied", `delivery.to: nothing can be sent to ${conversationKey(to)}: ${refused}`);
  }
  return { ...rest, delivery: { ...delivery, to } };
}

/** The same job, whose models are references. `before`: what an edit did not touch is not looked up again. */
export async function withModels(job: Job, named: ModelNamed, before: Job | null = null): Promise<Job> {
  const { payload, agent } = job;
  if (payload.kind !== "agentTurn") return job;
  const { model, fallbacks } = payload;
  const was = before?.payload.kind === "agentTurn" ? before.payload : null;
  const known = [was?.model, ...(was?.fallbacks ?? [])];
  const refOf = async (word: string): Promise<string> => (known.includes(word) ? word : named(agent, word));
  return {
    ...job,
    payload: {
      ...payload,
      ...(model === undefined ? {} : { model: await refOf(model) }),
      ...(fallbacks === undefined ? {} : { fallbacks: await Promise.all(fallbacks.map(refOf)) }),
    },
  };
}

/** Throws Fault for a name that means no tool. `before`: what an edit did not touch stays as it is. */
export function checkTools(
  { payload }: Job,
  unknown: (named: readonly string[]) => readonly string[],
  before: Job | null = null,
): void {
  if (payload.kind !== "agentTurn") return;
  const kept = before?.payload.kind === "agentTurn" ? (before.payload.tools ?? []) : [];
  const [wrong] = unknown((payload.tools ?? []).filter((name) => !kept.includes(name)));
  if (wrong === undefined) return;
  const fix = `name tools (${catalogue.map(({ id }) => id).join(", ")}), groups such as group:fs, or patterns such as web_*; without it the run has all that its maker may use`;
  throw problems([{ path: "payload.tools", value: wrong, why: "is no tool", fix }]);
}

export function problems(found: readonly Problem[]): Fault {
  const lines = found.map(({ path, value, why, fix }) => {
    const said = value === undefined || value === null ? "" : ` ${JSON.stringify(value).slice(0, 200)}`;
    return `${path === "" ? "the job" : path}${said} ${why}. Fix: ${fix}`;
  });
  return new Fault("invalid", lines.join("\n"));
}
