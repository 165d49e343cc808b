// Each planted bug is found by a law of slots that names it: a law that never fails proves nothing.
import type { NewRow } from "@parley/store";
import { expect, test } from "vitest";
import { simulateSlots, type BrokenStore } from "./slots.ts";

const accepting =
  (changed: (rows: readonly NewRow[]) => readonly NewRow[]): BrokenStore =>
  (store) => ({ ...store, inbox: { ...store.inbox, accept: (rows) => store.inbox.accept(changed(rows)) } });

/** Every job is read once, and never again. */
function stale(): BrokenStore {
  const seen = new Map<string, Awaited<ReturnType<Parameters<BrokenStore>[0]["cells"]["get"]>>>();
  return (store) => ({
    ...store,
    cells: {
      ...store.cells,
      async get(key) {
        if (!seen.has(key)) seen.set(key, await store.cells.get(key));
        return seen.get(key) ?? null;
      },
      put: (key, value) => store.cells.put(key, value, {}),
    },
  });
}

function forgetful(): BrokenStore {
  let nth = 0;
  return accepting((rows) => rows.map((row) => ({ ...row, id: `${row.id}/${(nth += 1)}` })));
}

const unchecked: BrokenStore = (store) => ({
  ...store,
  cells: {
    ...store.cells,
    put: (key, value, how) => store.cells.put(key, value, how?.expect === undefined ? how : {}),
  },
});

const plants: readonly (readonly [name: string, laws: readonly string[], store: () => BrokenStore])[] = [
  ["a store that knows no row's id again", ["once"], forgetful],
  ["rows that are accepted and not kept", ["lost"], () => accepting((rows) => rows.slice(1))],
  ["jobs that are written over an edit", ["undone"], () => unchecked],
  ["jobs that are read as they once were", ["old"], stale],
];

test.for(plants)("finds %s", { timeout: 300_000 }, async ([, laws, store]) => {
  for (let seed = 1; seed <= 20; seed += 1) {
    const found = await simulateSlots(seed, store());
    if (found.some((each) => laws.some((law) => each.startsWith(`${law}:`)))) return;
  }
  expect.fail("twenty seeds did not find it");
});
