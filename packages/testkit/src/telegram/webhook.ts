// Delivers updates to a webhook as Telegram does: with the secret header, again after anything but 2xx, at
// most `max_connections` at once.
import type { Clock } from "@parley/protocol";
import type { Update } from "./queue.ts";
import type { Bot } from "./world.ts";

/** The real schedule is not published; a short one keeps tests short. */
const retryAfterMs = 200;

export interface WebhookPusher {
  /** Looks for work: after a new update, after setWebhook. */
  wake(): void;
  close(): void;
}

export function webhookPusher(bot: Bot, clock: Clock): WebhookPusher {
  const inFlight = new Set<Update>();
  const resting = new Set<Update>();
  const stop = new AbortController();

  const deliver = async (update: Update): Promise<void> => {
    const hook = bot.webhook;
    if (hook === null) return;
    const fail = (message: string): void => {
      bot.webhookError = { date: Math.floor(clock.now() / 1000), message };
      resting.add(update);
      clock.after(retryAfterMs, () => {
        resting.delete(update);
        wake();
      });
    };
    try {
      const response = await fetch(hook.url, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          ...(hook.secret === undefined ? {} : { "x-telegram-bot-api-secret-token": hook.secret }),
        },
        body: JSON.stringify(update),
        signal: stop.signal,
      });
      await response.arrayBuffer();
      if (response.ok) bot.queue.remove(update);
      else fail(`Wrong response from the webhook: ${response.status} ${response.statusText}`);
    } catch {
      // Refused, reset, or closed by `close`: the update stays and is tried again.
      fail("Connection refused");
    }
  };

  const wake = (): void => {
    const hook = bot.webhook;
    if (hook === null || stop.signal.aborted) return;
    for (const update of bot.queue.pending()) {
      if (inFlight.size + resting.size >= hook.maxConnections) return;
      if (inFlight.has(update) || resting.has(update)) continue;
      inFlight.add(update);
      void deliver(update).finally(() => {
        inFlight.delete(update);
        wake();
      });
    }
  };
  bot.queue.onPush(wake);
  return { wake, close: () => stop.abort() };
}
