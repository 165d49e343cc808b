// Polls Telegram with getUpdates, hands each batch over, and only then confirms it with the next offset (I1).
// No offset is used twice: the first poll has none, and neither has the poll after one that confirmed a
// batch, because Telegram may draw ids anew that are lower. Ids are never compared.
// Next: packages/channels/src/telegram/normalize.ts.
import type { Update } from "grammy/types";
import { Fault, isFault, type Log, sleep } from "@parley/protocol";
import { type BotApi, grammySignal, pollSeconds } from "./bot-api.ts";
import { wantedUpdates } from "./normalize.ts";
import { type Persistence, refusedAgainMs, waitAfterMs } from "../persist.ts";
import { isTokenRefused, refusalWords } from "./refusals.ts";

export interface PollOptions extends Persistence {
  readonly api: BotApi;
  readonly log: Log;
  /** Resolves once every update is durable. */
  readonly accept: (updates: readonly Update[]) => Promise<void>;
}

/** The Bot API returns at most 100 updates. */
const mostUpdates = 100;
/**
 * After a 409 the other poller's request may live as long as a poll; a shorter wait would only make the two
 * interrupt each other.
 */
const conflictMs = pollSeconds * 1000;
const conflictJitterMs = 10_000;
/**
 * Rest after an empty answer that came at once: some servers and proxies do not hold polls, and must not be
 * called in a tight loop.
 */
const notHeldMs = 1_000;

/** Runs until the signal aborts. Never rejects for a failure of Telegram or of `accept`. */
export async function pollUpdates(options: PollOptions): Promise<void> {
  const { api, clock, ids, log, health, accept, signal } = options;
  let offset: number | undefined;
  let limit = mostUpdates;
  let failures = 0;
  let webhookRemoved = false;
  // The first poll, and the first after trouble, asks for an answer at once, so that health need not wait for
  // half a minute.
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
      // A status question in the first batch must not be answered with "starting". After trouble, health
      // turns ok only once the batch is durable.
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
        // Removed once only: should the webhook come back, another process sets it, and the two must not
        // fight.
        webhookRemoved = true;
        log.info({}, "polling is configured but a webhook is set: removing it, pending updates are kept");
        await api.raw.deleteWebhook({ drop_pending_updates: false }, grammySignal(signal)).catch(() => {
          // The next poll meets the webhook again and waits as after any conflict.
        });
        continue;
      }
      // A batch too large to read is asked for again with half the limit, soon: it is no outage.
      if (isFault(error, "invalid")) {
        if (limit > 1) failures = 1;
        limit = Math.max(1, limit >> 1);
      }
      const isRefused = isTokenRefused(error);
      health.set(isRefused ? "down" : "degraded", error instanceof Error ? error.message : String(error));
      if (!isFault(error)) log.error({ err: error }, "the poll loop met a bug");
      if (isFault(error, "conflict")) api.transport.renewPoll();
      const conflictWaitMs = isFault(error, "conflict") ? conflictMs + ids.chance() * conflictJitterMs : null;
      await sleep(
        clock,
        isRefused ? refusedAgainMs : (conflictWaitMs ?? waitAfterMs(error, failures, ids)),
        signal,
      );
    }
  }
}

/** Any Fault of the store means one thing here: the batch is not durable, so it stays with Telegram. */
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

/** An update without its id cannot be confirmed; a batch of nothing else is an invalid answer. */
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
