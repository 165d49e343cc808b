// Has sub-agents leave threads in which nobody wrote for long, or that are too old, and says so there once.
// What the thread's session was used for last is in the store, so a restart changes nothing; one that works,
// waits or is waited for stays.
import type { Config } from "@parley/config";
import { textDelivery } from "@parley/delivery";
import { conversationKey, type SessionKey } from "@parley/protocol";
import type { Services } from "../turn-scope.ts";
import { childIn } from "./child-registry.ts";

const hourMs = 3_600_000;

export type IdleThreadNeeds = Pick<
  Services,
  "sessions" | "inbox" | "outbox" | "children" | "threads" | "clock"
>;

/** Resolves once all that are over have left; safe to repeat, also in several processes. */
export async function leaveIdleThreads(
  needs: IdleThreadNeeds,
  { idleHours, maxAgeHours }: Config["session"]["threadBindings"],
): Promise<void> {
  const { outbox, threads } = needs;
  for (const { session, thread } of threads.threads()) {
    const why = await whyOver(needs, session, { idleHours, maxAgeHours });
    if (why === null) continue;
    const words = `🧵 The sub-agent has left this thread: ${why}. What you write here from now on goes to the agent itself.`;
    // Said first: a process that dies in between says it again under the same id, which is once.
    await outbox.post([
      textDelivery(`child-idle:${conversationKey(thread)}`, thread, words, `child:${childIn(session)}`),
    ]);
    await threads.unbind(session);
  }
}

async function whyOver(
  { sessions, inbox, children, clock }: IdleThreadNeeds,
  session: SessionKey,
  { idleHours, maxAgeHours }: { readonly idleHours: number; readonly maxAgeHours: number },
): Promise<string | null> {
  const { createdAtMs, updatedAtMs } = await sessions.open(session);
  const nowMs = clock.now();
  const isIdle = idleHours > 0 && nowMs - updatedAtMs >= idleHours * hourMs;
  const isOld = maxAgeHours > 0 && nowMs - createdAtMs >= maxAgeHours * hourMs;
  if (!isIdle && !isOld) return null;
  if ((await children.get(childIn(session) ?? ""))?.end === null) return null;
  for (const state of ["waiting", "claimed"] as const)
    if ((await inbox.find({ lane: session, state, limit: 1 })).length > 0) return null;
  return isIdle
    ? `nobody wrote here for ${inHours(idleHours)}`
    : `it was open for ${inHours(maxAgeHours)}, which is the longest`;
}

function inHours(hours: number): string {
  const minutes = Math.max(1, Math.round(hours * 60));
  if (hours < 1) return minutes === 1 ? "a minute" : `${minutes} minutes`;
  return hours === 1 ? "an hour" : `${hours} hours`;
}
