// The history of notes: what differs is kept in whole lines, from which either text is made again.
import fc from "fast-check";
import { expect, test } from "vitest";
import { virtualClock } from "@parley/testkit";
import { changedLines, noteHistory } from "../src/memory/note-history.ts";
import { memoryStore } from "./store.ts";

test("makes each text of a change from the other", () => {
  const text = fc.array(fc.constantFrom("- a\n", "- b\n", "\n", "- c\r\n", "end"), { maxLength: 8 });
  fc.assert(
    fc.property(text, text, (old, fresh) => {
      const [before, after] = [old.join(""), fresh.join("")];
      const { at, removed, added } = changedLines(before, after);
      expect(before.slice(0, at) + added + before.slice(at + removed.length)).toBe(after);
      expect(after.slice(0, at) + removed + after.slice(at + added.length)).toBe(before);
      if (before === after) expect(removed + added).toBe("");
    }),
  );
});

test("lists changes in their order, whoever records them and whatever the clock says", async () => {
  const clock = virtualClock();
  const store = await memoryStore(clock);
  const from = { path: "MEMORY.md", session: "s", turn: "t", by: [], tool: "write" };
  const told: string[] = [];
  for (let round = 0; round < 12; round += 1) {
    const history = noteHistory({ cells: store.cells, clock: { ...clock, now: () => clock.now() - round } });
    await history.record("main", from, null, `${round}`);
    told.unshift(`${round}`);
  }
  const history = noteHistory({ cells: store.cells, clock });
  expect((await history.list("main", 100)).map(({ added }) => added)).toEqual(told);
  await store.close();
});

test("keeps the newest 2,000 changes", async () => {
  const clock = virtualClock();
  const store = await memoryStore(clock);
  for (let old = 0; old < 2_000; old += 1)
    await store.cells.put(`memory-change:main:${`${old}`.padStart(14, "0")}-x`, `{"added":"${old}"}`, {});
  const history = noteHistory({ cells: store.cells, clock });
  const from = { path: "MEMORY.md", session: "s", turn: "t", by: [], tool: "write" };
  await history.record("main", from, null, "new");
  const kept = await history.list("main", 5_000);
  expect(kept).toHaveLength(2_000);
  expect([kept[0]?.added, kept.at(-1)?.added]).toEqual(["new", "1"]);
  await store.close();
});

test("keeps a change for 90 days, also one that was undone meanwhile", async () => {
  const clock = virtualClock();
  const store = await memoryStore(clock);
  const history = noteHistory({ cells: store.cells, clock });
  const from = { path: "MEMORY.md", session: "s", turn: "t", by: [], tool: "write" };
  await history.record("main", from, null, "one");
  await history.record("main", from, "one", "two");
  const [second] = await history.list("main", 9);
  const dayMs = 86_400_000;
  await clock.advance(89 * dayMs);
  await history.undone("main", second?.id ?? "");
  const kept = await history.list("main", 9);
  expect(kept.map(({ added, undoneAtMs }) => [added, undoneAtMs])).toEqual([
    ["two", clock.now()],
    ["one", undefined],
  ]);
  await clock.advance(dayMs - 10);
  expect(await history.list("main", 9)).toHaveLength(2);
  await clock.advance(20);
  expect(await history.list("main", 9)).toEqual([]);
  await store.close();
});
