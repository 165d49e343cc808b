// Starts the pools of turns and deliveries. It resolves the current config's handlers on every lease, so a
// reload takes effect on the next turn or batch, and work that began ends with the config it began with.
import { startPools, type Pools, type PoolsOptions } from "@parley/queue";
import { programSinks } from "@parley/access";
import { live } from "./live.ts";

export interface LaneWork extends Pick<PoolsOptions, "runTurn" | "buryTurn" | "deliver"> {
  readonly concurrency: PoolsOptions["concurrency"];
}

/** The part of the work that this process does; other nodes do the rest. */
export interface Share {
  readonly turns: boolean;
  /** Accounts that need no leader. */
  readonly accounts: readonly string[];
}

export type StartWorkOptions = Pick<PoolsOptions, "store" | "onReady" | "holder" | "clock" | "ids" | "log">;

/** Starts the pools. `now` returns the current config's handlers. */
export function startWork(options: StartWorkOptions, now: () => LaneWork, share: Share): Pools {
  return startPools({
    ...options,
    concurrency: live(() => now().concurrency),
    runTurn: (turn, lease) => now().runTurn(turn, lease),
    buryTurn: (turn, error) => now().buryTurn(turn, error),
    runsTurns: share.turns,
    accounts: share.accounts,
    always: [...programSinks.keys()],
    deliver: deliverNow(now),
  });
}

/** Makes the deliverer of an account anew when the config has changed. */
function deliverNow(now: () => LaneWork): PoolsOptions["deliver"] {
  return (account) => {
    let madeBy = now();
    let deliver = madeBy.deliver(account);
    return (batch, lease) => {
      if (madeBy !== now()) {
        madeBy = now();
        deliver = madeBy.deliver(account);
      }
      return deliver(batch, lease);
    };
  };
}
