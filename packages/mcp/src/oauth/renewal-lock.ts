// Lets one process of a gateway renew a login at a time, by a cell that only one can make: a token that
// renews counts once, and several nodes may share a home. The cell of a process that was killed expires.
import { Fault, sleep, type Clock } from "@parley/protocol";

/** `store.cells`, as far as a renewal uses them. */
export interface LockCells {
  put(
    key: string,
    value: string,
    how: { readonly expect?: number; readonly ttlMs?: number },
  ): Promise<{ readonly version: number } | null>;
  touch(key: string, version: number, ttlMs: number): Promise<boolean>;
  remove(key: string, version?: number): Promise<boolean>;
}

export type RenewalLock = <Value>(server: string, work: () => Promise<Value>) => Promise<Value>;

const heldMs = 30_000;
const waitMs = 60_000;
const askMs = 100;

export function renewalLock(cells: LockCells, clock: Clock): RenewalLock {
  return async (server, work) => {
    const key = `mcp-renewal:${server}`;
    const until = clock.now() + waitMs;
    let held = await cells.put(key, "held", { expect: 0, ttlMs: heldMs });
    while (held === null) {
      if (clock.now() > until)
        throw new Fault("unavailable", "its login is being renewed by another process of this gateway");
      await sleep(clock, askMs);
      held = await cells.put(key, "held", { expect: 0, ttlMs: heldMs });
    }
    const { version } = held;
    const beat = () =>
      clock.after(heldMs / 3, () => {
        timer = beat();
        // A store that is away now may be back for the next beat; at worst the cell expires.
        cells.touch(key, version, heldMs).catch(() => undefined);
      });
    let timer = beat();
    try {
      return await work();
    } finally {
      timer.cancel();
      // What cannot be removed expires.
      await cells.remove(key, version).catch(() => false);
    }
  };
}
