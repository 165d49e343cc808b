// Applies a new config to the running daemon: the next turn uses it, and only accounts whose connection it
// changes are stopped and started. What a stopped channel was receiving is durable before its successor
// starts, and deliveries wait in the outbox (I1).
import type { Channel } from "@parley/channels";
import { changedKeys, restartKeys, secretValues, type Config } from "@parley/config";
import { sleep, type Clock, type Log } from "@parley/protocol";
import type { WorkNotifier, Pools } from "@parley/queue";
import type { ConfiguredPath } from "../message-path/paths-by-config.ts";
import { connections, type Wired } from "../wiring/channels.ts";

export interface TakeUpOptions {
  readonly wired: Wired;
  readonly workNotifier: Pick<WorkNotifier, "serve">;
  readonly pools: () => Pick<Pools, "serve">;
  /** True when one of several nodes leads this account. */
  readonly isLed: (account: string) => boolean;
  /**
   * Reconnects the account where this node leads it, and prepares for leading it elsewhere; never rejects.
   */
  readonly changeLed: (account: string, after: Config) => Promise<void>;
  readonly build: (config: Config) => Promise<ConfiguredPath>;
  /** Makes this message path the current one. */
  readonly use: (path: ConfiguredPath) => void;
  /** Starts receiving, unless the gateway is not to receive now; never rejects. */
  readonly start: (channel: Channel) => Promise<void>;
  readonly stop: (channel: Channel) => Promise<void>;
  /** Hides this secret from the log. */
  readonly hide: (secret: string) => void;
  readonly setLevel: (level: Config["logging"]["level"]) => void;
  readonly clock: Clock;
  readonly log: Log;
}

interface TakenUp {
  readonly changed: readonly string[];
  /** Accounts whose channel was stopped, started or both. */
  readonly restarted: readonly string[];
  /** Keys that only the next start takes up. */
  readonly restartNeeded: readonly string[];
}

export type TakeUp = (before: Config, after: Config) => Promise<TakenUp>;

/** Most time for a stopping channel to finish what it is receiving. */
const stopMs = 10_000;

/** Rejects with Fault, and has changed nothing, for a config that cannot be used. */
export function takeUp(options: TakeUpOptions): TakeUp {
  const { wired, isLed, log } = options;
  const serving = new Map<string, () => void>();

  async function renew(account: string, after: Config): Promise<void> {
    if (isLed(account)) return options.changeLed(account, after);
    const old = wired.channels.get(account);
    if (old !== undefined)
      await Promise.race([options.stop(old).catch(() => {}), sleep(options.clock, stopMs)]);
    // Until here, deliveries went out over the old channel.
    const fresh = await wired.renew(account, after);
    if (fresh === null) {
      serving.get(account)?.();
      serving.delete(account);
    } else if (!serving.has(account)) serving.set(account, options.workNotifier.serve(account));
    options.pools().serve([...wired.channels.keys()].filter((each) => !isLed(each)));
    log.info(
      { account, gone: fresh === null },
      old === undefined ? "an account came with the config" : "an account changed with the config",
    );
    if (fresh !== null) await options.start(fresh);
  }

  return async (before, after) => {
    const changed = changedKeys(before, after);
    for (const secret of secretValues(after)) options.hide(secret);
    const path = await options.build(after);
    options.setLevel(after.logging.level);
    options.use(path);
    const [was, is] = [connections(before), connections(after)];
    const touched = [...new Set([...was.keys(), ...is.keys()])].filter(
      (account) => was.get(account) !== is.get(account),
    );
    // Removed accounts first: a token that moves to another account must not be polled twice.
    await Promise.all(touched.filter((account) => !is.has(account)).map((account) => renew(account, after)));
    await Promise.all(touched.filter((account) => is.has(account)).map((account) => renew(account, after)));
    await path.path.keepOwnJobs();
    return { changed, restarted: touched, restartNeeded: restartKeys(changed) };
  };
}
