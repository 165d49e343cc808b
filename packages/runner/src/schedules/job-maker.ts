// Names who does something with jobs, and decides what they may: people see the jobs of their conversation,
// change what they made themselves, and have no job do what no message of theirs could.
import { conversationKey, Fault } from "@parley/protocol";
import type { Job, JobOwner } from "@parley/schedules";

/** Who does something with jobs. */
export interface JobMaker extends JobOwner {
  readonly agent: string;
}

export function mayName(job: Job, by: JobMaker): boolean {
  if (by.kind === "operator") return true;
  if (job.agent !== by.agent) return false;
  const isHere =
    (by.session !== null && job.owner.session === by.session) ||
    (by.conversation !== null &&
      job.owner.conversation !== null &&
      conversationKey(job.owner.conversation) === conversationKey(by.conversation));
  // In a shared place everybody reads what is listed, so an owner's other jobs stay out of it.
  return isHere || (by.isOwner && by.conversation?.kind === "dm");
}

/** Beside owners, people change only what they made themselves, with the rights that they had. */
export function mayChange(job: Job, by: JobMaker): void {
  if (by.isOwner || (job.owner.sender === by.sender && !job.owner.isOwner)) return;
  throw new Fault(
    "denied",
    `only an owner may change the job ${job.id}: it works with the rights of another`,
  );
}

/** Throws Fault for what this maker may not have a job do. */
export function checkAllowed(job: Job, by: JobMaker): void {
  const { payload, delivery, target, owner } = job;
  if (payload.kind === "command")
    throw new Fault(
      "invalid",
      'payload.kind: "command" is not there: use { kind: "agentTurn", message } and let the agent run it',
    );
  const isOwnSession = target.kind !== "isolated" && payload.kind === "agentTurn";
  if (isOwnSession && (payload.model !== undefined || payload.thinking !== undefined))
    throw new Fault(
      "invalid",
      `payload.model and payload.thinking are for isolated runs: in a session, /model and /think say them. Use the target isolated`,
    );
  if (by.kind === "operator" && target.kind === "current")
    throw new Fault(
      "invalid",
      'target "current" means the session in which the job is made, and there is none here. Fix: name one with session:<key>, or use main or isolated',
    );
  if (by.isOwner) return;
  if (job.schedule.kind === "watch")
    throw new Fault("denied", "schedule: only an owner's job may watch files of the workspace");
  if (delivery.kind === "webhook")
    throw new Fault("denied", "delivery: only an owner's job may call a webhook");
  if (target.kind === "session" && target.session !== owner.session)
    throw new Fault("denied", "target: only an owner's job may run in another session");
}
