// Each planted bug is found by a law of sub-agents that names it: a law that never fails proves nothing.
import type { Commit, NewRow, SqliteStore } from "@parley/store";
import { expect, test } from "vitest";
import { simulateChildren, type BrokenStore } from "./children.ts";

/** A driver whose commits are changed on their way. */
const committing =
  (changed: (what: Commit) => Commit): BrokenStore =>
  (store) => ({
    ...store,
    turns: { ...store.turns, commit: (lease, turn, what) => store.turns.commit(lease, turn, changed(what)) },
  });

const isEnd = ({ id }: NewRow): boolean => id.startsWith("child:");

const plants: readonly (readonly [name: string, law: string, store: BrokenStore])[] = [
  [
    "an end that is recorded and not told",
    "once",
    committing((what) => ({ ...what, rows: (what.rows ?? []).filter((row) => !isEnd(row)) })),
  ],
  [
    "an end that is told again under another id",
    "once",
    committing((what) => {
      const rows = what.rows ?? [];
      const again = rows.filter(isEnd).map((row) => ({ ...row, id: `${row.id}:again` }));
      return { ...what, rows: [...rows, ...again] };
    }),
  ],
  [
    "an end that goes to whoever is there",
    "place",
    committing((what) => ({
      ...what,
      rows: (what.rows ?? []).map((row) =>
        isEnd(row) ? { ...row, lane: "agent:main:telegram:dm:ben" as NewRow["lane"] } : row,
      ),
    })),
  ],
  [
    "an end that is told and not recorded",
    "ends",
    committing((what) => ({
      ...what,
      cells: (what.cells ?? []).filter(
        ({ key, value }) => !key.startsWith("child:") || !value?.includes('"end":{'),
      ),
    })),
  ],
  ["sub-agents that nobody counts", "limits", uncounted],
];

/** Lists of sub-agents are empty while their parent spawns. */
function uncounted(store: SqliteStore): SqliteStore {
  return {
    ...store,
    cells: {
      ...store.cells,
      list: (prefix, limit) =>
        prefix.startsWith("child:") ? Promise.resolve([]) : store.cells.list(prefix, limit),
    },
  };
}

test.for(plants)("finds %s", { timeout: 300_000 }, async ([, law, store]) => {
  for (let seed = 1; seed <= 10; seed += 1) {
    const found = await simulateChildren(seed, store);
    if (found.some((each) => each.startsWith(`${law}:`))) return;
  }
  expect.fail("ten seeds did not find it");
});
