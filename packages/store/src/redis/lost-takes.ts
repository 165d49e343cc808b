// Takes whose answer never arrived. What they leased would lie idle until the lease ends, with a strike against its work; so the next take
// names them, and gets what they got.

export interface LostTakes {
  /** A new name for a take, and the lost ones of the same pool and holder. */
  ask(pool: string, holder: string): { readonly ask: string; readonly lost: readonly string[] };
  /** No answer came. */
  lose(pool: string, holder: string, ask: string): void;
  /** An answer came; it was that of the lost take `found`, or there was none to be found. */
  settle(pool: string, holder: string, lost: readonly string[], found: string | null): void;
}

/** More at once are not in flight; beyond it, leases end by their time. */
const mostLost = 64;

/** `handle` tells the names of this handle from those of any other. */
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
