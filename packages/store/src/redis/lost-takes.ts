// Remembers takes whose answer never arrived. Their leases would lie idle until they run out and count a
// strike, so the next take names the lost ones and gets what they leased.

export interface LostTakes {
  /** Names a new take and lists the lost ones of the same pool and holder. */
  ask(pool: string, holder: string): { readonly ask: string; readonly lost: readonly string[] };
  /** Records that no answer came. */
  lose(pool: string, holder: string, ask: string): void;
  /**
   * Records that an answer came: that of the lost take `found`, or null when no lost take had leased
   * anything.
   */
  settle(pool: string, holder: string, lost: readonly string[], found: string | null): void;
}

/** More are never in flight at once; beyond it, leases simply run out. */
const mostLost = 64;

/** `handle` makes the names of this store handle unique. */
export function lostTakes(handle: string): LostTakes {
  const byHolder = new Map<string, string[]>();
  let asked = 0;
  const listOf = (pool: string, holder: string): string[] => byHolder.get(`${pool} ${holder}`) ?? [];

  return {
    ask: (pool, holder) => ({ ask: `${handle}#${(asked += 1)}`, lost: [...listOf(pool, holder)] }),
    lose(pool, holder, ask) {
      byHolder.set(`${pool} ${holder}`, [...listOf(pool, holder), ask].slice(-mostLost));
    },
    settle(pool, holder, lost, found) {
      const gone = new Set(found === null ? lost : [found]);
      const left = listOf(pool, holder).filter((ask) => !gone.has(ask));
      if (left.length === 0) byHolder.delete(`${pool} ${holder}`);
      else byHolder.set(`${pool} ${holder}`, left);
    },
  };
}
