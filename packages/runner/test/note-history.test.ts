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

test("what says something is forgotten from what came and from what went, of this agent alone; a change without an end is none", async () => {
  const clock = virtualClock();
  const store = await memoryStore(clock);
  const history = noteHistory({ cells: store.cells, clock });
  const from = { path: "MEMORY.md", session: "s", turn: "t", by: [], tool: "write" };
  await history.record("main", from, null, "tea\n");
  await history.record("main", from, "tea\n", "rum\n");
  await history.record("main", from, "rum\n", "rum\n");
  await history.record("main", from, "rum\n", null);
  await history.record("other", from, null, "tea\n");
  const what = { text: (text: string) => (text.includes("tea") ? "" : null) } as never;
  expect([await history.forget("main", what), await history.forget("main", what)]).toEqual([2, 0]);
  expect((await history.list("main", 9)).map(({ removed, added, after }) => [removed, added, after])).toEqual(
    [["rum\n", "", null]],
  );
  expect(await history.list("other", 9)).toHaveLength(1);
  await store.close();
});

test("a change too large to undo is kept without its words", async () => {
  const clock = virtualClock();
  const store = await memoryStore(clock);
  const history = noteHistory({ cells: store.cells, clock });
  const from = { path: "MEMORY.md", session: "s", turn: "t", by: [], tool: "write" };
  await history.record("main", from, "y".repeat(128_000), "x".repeat(128_000));
  await history.record("main", from, "y".repeat(128_000), "x".repeat(128_001));
  expect(
    (await history.list("main", 9)).map(({ at, removed, added }) => [at, removed.length, added.length]),
  ).toEqual([
    [-1, 0, 0],
    [0, 128_000, 128_000],
  ]);
  await store.close();
});
