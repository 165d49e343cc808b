// Limits how fast messages go out, per chat and per account, and pauses when the platform asks for it. So a
// burst of replies does not earn a ban. Quiet chats are forgotten, which bounds its memory (I9).
import type { Clock } from "@parley/protocol";

interface Rate {
  /** Messages that may go out at once after a quiet time. */
  readonly burst: number;
  /** Milliseconds until one more message may go out. */
  readonly everyMs: number;
}

export interface RateLimitOptions {
  readonly chat: Rate;
  /** Groups get a lower rate: Telegram allows about 20 messages a minute in one. */
  readonly group: Rate;
  readonly account: Rate;
  readonly clock: Clock;
}

export interface RateLimit {
  /**
   * Returns the wait for the next free slot, in milliseconds; reserves the slot unless the wait exceeds
   * `patienceMs`.
   */
  reserve(lane: string, group: boolean, patienceMs: number): number;
  /**
   * Pauses the chat or the whole account, as the platform said. When it did not say which (null), the chat is
   * paused; a second chat limited within a minute pauses the account.
   */
  limited(lane: string, retryAfterMs: number, reach: "chat" | "account" | null): void;
}

interface Bucket {
  /** Monotonic time, in milliseconds, at which the bucket is full again. */
  fullAtMs: number;
  pausedUntilMs: number;
}

const mostChats = 10_000;
const repeatWithinMs = 60_000;

export function rateLimit(options: RateLimitOptions): RateLimit {
  const { clock } = options;
  const chats = new Map<string, Bucket>();
  const account: Bucket = { fullAtMs: 0, pausedUntilMs: 0 };
  let last = { lane: "", atMs: -Infinity };

  function bucketOf(lane: string): Bucket {
    const known = chats.get(lane);
    if (known !== undefined) return known;
    if (chats.size >= mostChats) forgetQuiet();
    const fresh: Bucket = { fullAtMs: 0, pausedUntilMs: 0 };
    chats.set(lane, fresh);
    return fresh;
  }

  function forgetQuiet(): void {
    const nowMs = clock.mono();
    for (const [lane, bucket] of chats) {
      if (bucket.fullAtMs <= nowMs && bucket.pausedUntilMs <= nowMs) chats.delete(lane);
    }
    if (chats.size >= mostChats) chats.delete(chats.keys().next().value ?? "");
  }

  function waitMs(bucket: Bucket, rate: Rate): number {
    const nowMs = clock.mono();
    const freeAtMs = Math.max(bucket.fullAtMs, nowMs) - (rate.burst - 1) * rate.everyMs;
    return Math.max(0, freeAtMs - nowMs, bucket.pausedUntilMs - nowMs);
  }

  function spend(bucket: Bucket, rate: Rate): void {
    bucket.fullAtMs = Math.max(bucket.fullAtMs, clock.mono()) + rate.everyMs;
  }

  return {
    reserve(lane, group, patienceMs) {
      const chat = bucketOf(lane);
      const rate = group ? options.group : options.chat;
      const forMs = Math.max(waitMs(chat, rate), waitMs(account, options.account));
      if (forMs <= patienceMs) {
        spend(chat, rate);
        spend(account, options.account);
      }
      return forMs;
    },
    limited(lane, retryAfterMs, reach) {
      const nowMs = clock.mono();
      const chat = bucketOf(lane);
      chat.pausedUntilMs = Math.max(chat.pausedUntilMs, nowMs + retryAfterMs);
      const isAccounts =
        reach === "account" || (reach === null && last.lane !== lane && nowMs - last.atMs < repeatWithinMs);
      if (isAccounts) account.pausedUntilMs = Math.max(account.pausedUntilMs, nowMs + retryAfterMs);
      if (reach === null) last = { lane, atMs: nowMs };
    },
  };
}

/** For a local Bot API server, the web and tests. */
export const unlimitedRate: RateLimit = { reserve: () => 0, limited() {} };
