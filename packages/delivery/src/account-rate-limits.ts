// The pacer of each account: which rates its platform takes, and that there is one pacer for each, however often the config changes - what a
// platform counted does not begin anew.
import type { Config } from "@parley/config";
import type { Clock } from "@parley/protocol";
import { isPaced } from "@parley/access";
import { rateLimit, unlimitedRate, type RateLimit } from "./rate-limit.ts";

export interface AccountRateLimitsOptions {
  readonly config: Config;
  /** By account; what is made is put in here. */
  readonly kept: Map<string, RateLimit>;
  readonly clock: Clock;
}

/** What Telegram's own documentation asks for: about one message a second in a chat, twenty a minute in a group, thirty a second in all. */
const telegramRates = {
  chat: { burst: 3, everyMs: 1_000 },
  group: { burst: 3, everyMs: 3_000 },
  account: { burst: 30, everyMs: 34 },
} as const;

/** Five messages in five seconds in a channel, as its buckets say by default, and fifty requests a second in all (Discord's rate limits). */
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
