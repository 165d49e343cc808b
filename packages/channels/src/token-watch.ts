// Watches whether the platform accepts the account's token, from every call. An account whose calls are
// refused is down, even while its event connection works. The watch asks again now and then, because a token
// can start working again (I10).
import { type Clock, type Log, sleep } from "@parley/protocol";
import type { ChannelHealth } from "./channel.ts";

export interface TokenWatch {
  accepted(): void;
  refused(reason: string): void;
  /** The account's health combined with what is known of its token. */
  over(health: ChannelHealth): ChannelHealth;
}

export interface TokenWatchOptions {
  /** A call without effect; its result is reported through `accepted` and `refused`. */
  readonly ask: (signal: AbortSignal) => Promise<unknown>;
  readonly everyMs: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

export function tokenWatch({ ask, everyMs, clock, log, signal }: TokenWatchOptions): TokenWatch {
  let reason: string | null = null;
  let asking: Promise<void> | null = null;

  async function askAgain(): Promise<void> {
    while (reason !== null && !signal.aborted) {
      await sleep(clock, everyMs, signal);
      if (reason === null || signal.aborted) return;
      await ask(signal).catch((error: unknown) => log.debug({ error }, "the token was tried again"));
    }
  }

  return {
    accepted() {
      if (reason !== null) log.info({}, "the token is taken again");
      reason = null;
    },
    refused(why) {
      if (reason === null)
        log.error({ reason: why }, "the token is refused: answers wait until it is right again");
      reason = why;
      asking ??= askAgain().finally(() => {
        asking = null;
      });
    },
    // An account that is already down or stopped has its own reason, which says what to do.
    over: (health) =>
      reason === null || health.state === "stopped" || health.state === "down"
        ? health
        : { ...health, state: "down", reason },
  };
}
