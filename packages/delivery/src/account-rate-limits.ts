// Makes the rate limit of each account, at the rates that its platform takes. An account keeps one limit
// however often the config changes, because the platform's own count does not begin anew.
import type { Config } from "@parley/config";
import type { Clock } from "@parley/protocol";
import { isPaced } from "@parley/access";
import { rateLimit, unlimitedRate, type RateLimit } from "./rate-limit.ts";

export interface AccountRateLimitsOptions {
  readonly config: Config;
  /** By account key; a limit that is made is added here. */
  readonly kept: Map<string, RateLimit>;
  readonly clock: Clock;
}

/**
 * Telegram's documentation asks for about one message a second in a chat, 20 a minute in a group, 30 a second
 * in all.
 */
const telegramRates = {
  chat: { burst: 3, everyMs: 1_000 },
  group: { burst: 3, everyMs: 3_000 },
  account: { burst: 30, everyMs: 34 },
} as const;

/**
 * Discord's default buckets take five messages in five seconds in a channel, and 50 requests a second in all.
 */
const discordRates = {
  chat: { burst: 5, everyMs: 1_000 },
  group: { burst: 5, everyMs: 1_000 },
  account: { burst: 50, everyMs: 20 },
} as const;

export function accountRateLimits({
  config,
  kept,
  clock,
}: AccountRateLimitsOptions): (account: string) => RateLimit {
  return (account) => {
    if (!isPaced(config, account)) return unlimitedRate;
    const rates = account.startsWith("telegram:") ? telegramRates : discordRates;
    const known = kept.get(account) ?? rateLimit({ ...rates, clock });
    kept.set(account, known);
    return known;
  };
}
