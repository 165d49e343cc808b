// What Redis' driver offers beside the contract, over the contract's verbs: ends leases of processes that are
// gone.
import type { DeadLeases, Store } from "@parley/store";
import { turnPools } from "@parley/queue";

const all = 1_000;

export async function freeLeases(store: Store, accounts: readonly string[], of: DeadLeases): Promise<number> {
  const isDead = (holder: string | null): holder is string =>
    holder !== null && ("holder" in of ? holder === of.holder : holder !== of.besides);
  let freed = 0;
  const free = async (lanes: Store["turns"] | Store["outbox"], pool: string): Promise<void> => {
    for (const { lane, holder, token } of await lanes.list(pool, all)) {
      if (!isDead(holder)) continue;
      await lanes.release(
        { lane, holder, token },
        { afterMs: 0, reason: "its holder is gone", refund: false },
      );
      freed += 1;
    }
  };
  if ("outboxOf" in of) await free(store.outbox, of.outboxOf);
  else {
    for (const pool of turnPools) await free(store.turns, pool);
    for (const account of accounts) await free(store.outbox, account);
  }
  return freed;
}
