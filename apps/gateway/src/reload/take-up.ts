// A running daemon takes up another config: the next turn runs by it, and only the accounts whose connection
// it changes are stopped and started. What a stopped channel was just receiving is durable before its
// successor begins; what is to be sent waits in the outbox (I1).
import type { Channel } from "@parley/channels";
import { changedKeys, restartKeys, secretValues, type Config } from "@parley/config";
import { sleep, type Clock, type Log } from "@parley/protocol";
import type { WorkNotifier, Pools } from "@parley/queue";
import type { ConfiguredPath } from "../message-path/paths-by-config.ts";
import { connections, type Wired } from "../wiring/wiring.ts";

export interface TakeUpOptions {
  readonly wired: Wired;
  readonly workNotifier: Pick<WorkNotifier, "serve">;
  readonly pools: () => Pick<Pools, "serve">;
  /** One of several nodes leads this account. */
  readonly isLed: (account: string) => boolean;
  /**
   * Makes its connection anew where this node leads it, and sees to it that it would be where another one
   * does; never rejects.
   */
  readonly changeLed: (account: string, after: Config) => Promise<void>;
  readonly build: (config: Config) => Promise<ConfiguredPath>;
  /** From now on everything is done by this one. */
  readonly use: (path: ConfiguredPath) => void;
  /** Begins to hear, unless nothing is to be heard now; never rejects. */
  readonly start: (channel: Channel) => Promise<void>;
  readonly stop: (channel: Channel) => Promise<void>;
  /** The log shows this secret no more. */
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

/** A channel waits for what it is just receiving; more than this is no waiting any more. */
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
    // Until here what is sent went out over the old one.
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
    // Removed ones first: a token that moves to another account must not be polled twice.
    await Promise.all(touched.filter((account) => !is.has(account)).map((account) => renew(account, after)));
    await Promise.all(touched.filter((account) => is.has(account)).map((account) => renew(account, after)));
    return { changed, restarted: touched, restartNeeded: restartKeys(changed) };
  };
}
