// The fetch loop, ours and not grammY's: getUpdates, hand over, and only then the offset that confirms (I1). No offset outlives its use:
// the first poll has none, and after the poll that confirmed a batch there is none again, so an id that Telegram draws anew (it may be
// lower) is never passed over. Ids are never compared.
import type { Update } from "grammy/types";
import { Fault, isFault, type Log, sleep } from "@parley/protocol";
import { type BotApi, grammySignal, pollSeconds } from "./bot-api.ts";
import { wantedUpdates } from "./normalize.ts";
import { type Persistence, waitAfterMs } from "../persist.ts";
import { isTokenRefused, refusalWords } from "./refusals.ts";

export interface PollOptions extends Persistence {
  readonly api: BotApi;
  readonly log: Log;
  /** Resolves once every update is durable. */
  readonly accept: (updates: readonly Update[]) => Promise<void>;
}

/** 100 is the Bot API's most. */
const mostUpdates = 100;
/** After a 409 the other poller's request may live as long as a poll: a shorter wait only trades kicks with it. */
const conflictMs = pollSeconds * 1000;
const conflictJitterMs = 10_000;
/** A token that is refused seldom works again, but an outage can say so too (I10): asked this seldom, it is no loop. */
const refusedMs = 10 * 60_000;
/** Rest after a poll that came back empty at once: some servers and proxies do not hold polls, and must not be called in a circle. */
const notHeldMs = 1_000;

/** Runs until the signal aborts. Never rejects for a failure of Telegram or of `accept`. */
export async function pollUpdates(options: PollOptions): Promise<void> {
  const { api, clock, ids, log, health, accept, signal } = options;
  let offset: number | undefined;
  let limit = mostUpdates;
  let failures = 0;
  let webhookRemoved = false;
  // The first poll, and the first after trouble, is answered at once: health need not wait for a message or half a minute.
  let isProven = false;

  const fetchBatch = async (): Promise<readonly Update[]> => {
    const confirm = offset === undefined ? {} : { offset };
    const updates = await api.raw.getUpdates(
      { ...confirm, limit, timeout: isProven ? pollSeconds : 0, allowed_updates: wantedUpdates },
      grammySignal(signal),
    );
    return withIds(updates);
  };

  while (!signal.aborted) {
    try {
      const askedAtMs = clock.mono();
      const updates = await fetchBatch();
      health.inboundCompleted();
      // Whoever asks for the state in the first batch is heard, and must not be told that nobody hears. After trouble the batch has to be in first.
      if (health.read().state === "starting") health.set("ok");
      offset = undefined;
      limit = mostUpdates;
      const last = updates.at(-1);
      if (last !== undefined) {
        await handOver(accept, updates);
        offset = last.update_id + 1;
      }
      health.set("ok");
      if (isProven && last === undefined && clock.mono() - askedAtMs < notHeldMs)
        await sleep(clock, notHeldMs, signal);
      failures = 0;
      isProven = true;
    } catch (error) {
      if (signal.aborted) return;
      failures++;
      isProven = false;
      if (isFault(error, "conflict") && /webhook is active/.test(refusalWords(error)) && !webhookRemoved) {
        // Once: should it come back, another process sets it, and two of them must not fight.
        webhookRemoved = true;
        log.info({}, "polling is configured but a webhook is set: removing it, pending updates are kept");
        await api.raw.deleteWebhook({ drop_pending_updates: false }, grammySignal(signal)).catch(() => {
          // The next poll meets the webhook again and waits as after any conflict.
        });
        continue;
      }
      // A batch too large to read is asked for in smaller bites.
      if (isFault(error, "invalid")) limit = Math.max(1, limit >> 1);
      const isRefused = isTokenRefused(error);
      health.set(isRefused ? "down" : "degraded", error instanceof Error ? error.message : String(error));
      if (!isFault(error)) log.error({ err: error }, "the poll loop met a bug");
      if (isFault(error, "conflict")) api.transport.renewPoll();
      const conflictWaitMs = isFault(error, "conflict") ? conflictMs + ids.chance() * conflictJitterMs : null;
      await sleep(
        clock,
        isRefused ? refusedMs : (conflictWaitMs ?? waitAfterMs(error, failures, ids)),
        signal,
      );
    }
  }
}

/** Whatever code the store's Fault has, here it means one thing: the batch is not durable, so it stays with Telegram. */
async function handOver(accept: PollOptions["accept"], updates: readonly Update[]): Promise<void> {
  try {
    await accept(updates);
  } catch (cause) {
    throw new Fault(
      "unavailable",
      `updates could not be accepted: ${cause instanceof Error ? cause.message : String(cause)}`,
      { cause },
    );
  }
}

/** Without its id an update cannot be confirmed; a batch of none but such is an answer that makes no sense. */
function withIds(updates: unknown): readonly Update[] {
  if (!Array.isArray(updates))
    throw new Fault("unavailable", "Telegram answered getUpdates with something that is not a list");
  const readable = updates.filter((update: unknown): update is Update =>
    Number.isSafeInteger((update as Update | null)?.update_id),
  );
  if (readable.length === 0 && updates.length > 0)
    throw new Fault("unavailable", "Telegram sent updates without ids");
  return readable;
}
