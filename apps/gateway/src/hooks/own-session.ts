// Begins a conversation for work that reads nothing of the work before it in its session, such as a webhook's
// call. What earlier ones left goes after its time, with a record of when and how much.
import { keptEpochs } from "@parley/runner";
import type { SessionKey } from "@parley/protocol";
import type { Sessions } from "@parley/store";

/** As `parley forget` records it. */
const forgottenField = "forgotten";

export async function beginOwnSession(
  sessions: Pick<Sessions, "open" | "reset" | "trim" | "patch">,
  lane: SessionKey,
  retentionMs: number,
  nowMs: number,
): Promise<void> {
  const { lastSeq } = await sessions.open(lane);
  if (lastSeq === 0) return;
  const { before, patch } = keptEpochs(await sessions.reset(lane), retentionMs, nowMs);
  const entries = before === null ? 0 : await sessions.trim(lane, before);
  const record = entries === 0 ? {} : { [forgottenField]: { atMs: nowMs, entries } };
  await sessions.patch(lane, { ...patch, ...record });
}
