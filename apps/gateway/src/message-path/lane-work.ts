// What the pools do with what they take, and how they begin. Whose work it is is asked anew for each turn and each parcel, so that a change of
// the config takes hold with the next one and what was begun ends where it began.
import { startPools, type Pools, type PoolsOptions } from "@parley/queue";
import { programSinks } from "@parley/access";
import { live } from "../reload/live.ts";

export interface LaneWork extends Pick<PoolsOptions, "runTurn" | "buryTurn" | "deliver"> {
  readonly concurrency: PoolsOptions["concurrency"];
}

/** What one process of several does; others do the rest. */
export interface Share {
  readonly turns: boolean;
  /** Those that need no leader. */
  readonly accounts: readonly string[];
}

export type StartWorkOptions = Pick<PoolsOptions, "store" | "onReady" | "holder" | "clock" | "ids" | "log">;

/** Begins to work on what waits. `now`: whose work it is from then on. */
export function startWork(options: StartWorkOptions, now: () => LaneWork, share: Share): Pools {
  return startPools({
    ...options,
    concurrency: live(() => now().concurrency),
    runTurn: (turn, held) => now().runTurn(turn, held),
    buryTurn: (turn, error) => now().buryTurn(turn, error),
    runsTurns: share.turns,
    accounts: share.accounts,
    always: [...programSinks.keys()],
    deliver: deliverNow(now),
  });
}

/** The deliverer of an account, made once for each core. */
function deliverNow(now: () => LaneWork): PoolsOptions["deliver"] {
  return (account) => {
    let madeBy = now();
    let deliver = madeBy.deliver(account);
    return (parcel, held) => {
      if (madeBy !== now()) {
        madeBy = now();
        deliver = madeBy.deliver(account);
      }
      return deliver(parcel, held);
    };
  };
}
