// Which lines of the notes the upkeep is shown and may propose to change, and what is remembered of that and
// for how long. A real store, time that stands still unless a test moves it.
import { noRedaction } from "@parley/agent";
import { virtualClock } from "@parley/testkit";
import { expect, onTestFinished, test } from "vitest";
import { alikeLines } from "../src/memory/alike-lines.ts";
import { proposalStore, type Proposal } from "../src/memory/proposal.ts";
import { markLines } from "../src/memory/untrusted-lines.ts";
import { memoryStore } from "./store.ts";

const dayMs = 86_400_000;
const line = (path: string, at: number, text: string) => ({ path, line: at, text });
const tea = [line("a.md", 1, "- tea"), line("b.md", 2, "- Tea."), line("b.md", 3, "- the tea")];
const rum = [line("a.md", 4, "- rum"), line("c.md", 1, "- the rum")];
const beer = [line("a.md", 7, "- beer"), line("c.md", 9, "- ale")];

async function setUp() {
  const clock = virtualClock();
  const { cells, close } = await memoryStore(clock);
  onTestFinished(() => close());
  const book = proposalStore(cells, clock);
  const asked: unknown[] = [];
  const alike = alikeLines({
    book,
    cells,
    redaction: { ...noRedaction, secrets: ["hunter2-hunter2"] },
    notesOf: (id) =>
      ({
        agent: { id, workspace: `/w/${id}` },
        engine: {
          alike: async (target: string, most: number) => (
            asked.push([target, most]),
            [tea, rum, beer].map((lines) => ({ lines }))
          ),
        },
        target: `notes of ${id}`,
      }) as never,
  });
  const put = async (kind: "looked" | "refused", agent: string, lines: readonly { text: string }[]) => {
    for (const { key, value, ttlMs } of book.marking(kind, agent, [lines.map(({ text }) => text)]))
      await cells.put(key, value ?? "", ttlMs === undefined ? {} : { ttlMs });
  };
  const keep = async (id: string, more: Partial<Proposal> = {}) => {
    const { key, value } = book.proposing({
      v: 1,
      id,
      agent: "main",
      session: "s",
      turn: "t",
      changes: [{ kind: "merge", lines: [rum[0]!, rum[1]!], text: "rum", why: "" }],
      shownIn: [],
      createdAtMs: 1,
      expiresAtMs: 2,
      state: "open",
      ...more,
    });
    await cells.put(key, value ?? "", {});
  };
  const change = (more: object, all: readonly (readonly object[])[] = [tea, rum, beer]) =>
    alike.openLines("main").then((open) =>
      alike.checked("main", all.map((lines) => ({ lines })) as never, open, {
        kind: "merge",
        lines: ["a.md#L1", "b.md#L2"],
        text: "tea",
        why: "",
        ...more,
      } as never),
    );
  return { clock, cells, book, alike, asked, put, keep, change };
}

test("groups are shown as far as there is room, one at least; the rest is counted", async () => {
  const { alike, asked } = await setUp();
  // Each group takes 20 bytes, and each of its lines 20 beside its path and words.
  const bytes = (lines: readonly { path: string; text: string }[]) =>
    lines.reduce((sum, { path, text }) => sum + path.length + text.length + 20, 20);
  const shown = async (room: number) => {
    const { groups, more } = await alike.groupsFor("main", room);
    return [groups.map(({ lines }) => lines[0]?.text), more];
  };
  expect(await shown(0)).toEqual([["- tea"], 2]);
  expect(await shown(bytes(tea) + bytes(rum))).toEqual([["- tea", "- rum"], 1]);
  // A smaller one that comes later may still fit.
  expect(await shown(bytes(tea) + bytes(beer))).toEqual([["- tea", "- beer"], 1]);
  expect(await shown(bytes(tea) + bytes(rum) + bytes(beer))).toEqual([["- tea", "- rum", "- beer"], 0]);
  expect(await shown(bytes(tea) + bytes(rum) + bytes(beer) - 1)).toEqual([["- tea", "- rum"], 1]);
  expect(asked[0]).toEqual(["notes of main", 200]);
});

test("a group is not shown again for a month, nor while one of its lines is in a proposal that waits", async () => {
  const { clock, alike, put, keep } = await setUp();
  const shown = async (agent = "main") =>
    (await alike.groupsFor(agent, 10_000)).groups.map(({ lines }) => lines[0]?.text);
  await put("looked", "main", tea.toReversed());
  await put("refused", "main", beer);
  // One line of two is enough, whoever else's proposals there are, and whatever was decided of others.
  await keep("p1", { changes: [{ kind: "merge", lines: [rum[1]!, beer[0]!], text: "x", why: "" }] });
  expect(await shown()).toEqual([]);
  expect(await shown("other")).toEqual(["- tea", "- rum", "- beer"]);
  for (const [state, open] of [
    ["accepting", true],
    ["accepted", false],
    ["refused", false],
    ["expired", false],
  ] as const) {
    await keep("p1", {
      state,
      changes: [{ kind: "merge", lines: [line("a.md", 40, "- rum")], text: "x", why: "" }],
    });
    expect(await shown(), state).toEqual(open ? ["- beer"] : ["- rum", "- beer"]);
  }
  // The same words in another file are another line.
  await keep("p1", {
    changes: [{ kind: "merge", lines: [line("z.md", 4, "- rum")], text: "x", why: "" }],
  });
  expect(await shown()).toEqual(["- rum", "- beer"]);
  await clock.advance(30 * dayMs - 1);
  expect(await shown()).toEqual(["- rum", "- beer"]);
  await clock.advance(1);
  expect(await shown()).toEqual(["- tea", "- rum", "- beer"]);
});

test("what an owner refused is remembered for half a year, in any order and with any list marks", async () => {
  const { clock, book, put } = await setUp();
  await put("refused", "main", [{ text: "- one" }, { text: "two" }]);
  const is = (agent: string, ...lines: string[]) => book.isMarked("refused", agent, lines);
  expect(
    await Promise.all([is("main", "* two", "1. one"), is("main", "one"), is("other", "one", "two")]),
  ).toEqual([true, false, false]);
  expect(await book.isMarked("looked", "main", ["one", "two"])).toBe(false);
  await clock.advance(180 * dayMs - 1);
  expect(await is("main", "one", "two")).toBe(true);
  await clock.advance(1);
  expect(await is("main", "one", "two")).toBe(false);
});

test("a change is of lines of one group, in the order in which it names them, with words that fit", async () => {
  const { change, cells } = await setUp();
  const lines = ["b.md#L3", " a.md#L1 ", "b.md#L3"];
  expect(await change({ lines, text: "  drinks \n tea ", why: ` ${"w".repeat(299)}xy ` })).toEqual({
    kind: "merge",
    lines: [tea[2], tea[0]],
    text: "drinks tea",
    why: `${"w".repeat(299)}x`,
  });
  expect(await change({ kind: "contradiction", text: "not used" })).toEqual({
    kind: "contradiction",
    lines: [tea[0], tea[1]],
    text: null,
    why: "",
  });
  const group = "name two or more lines of one group, as look shows them";
  expect(await change({ lines: ["a.md#L1", "a.md#L4"] })).toBe(`a.md#L1, a.md#L4: ${group}`);
  expect(await change({ lines: ["a.md#L1", "a.md#L1 "] })).toBe(`a.md#L1: ${group}`);
  expect(await change({ lines: [] })).toBe(`no line: ${group}`);
  expect(await change({ lines: ["a.md#L10", "b.md#L2"] })).toBe(`a.md#L10, b.md#L2: ${group}`);
  const words = "a.md#L1, b.md#L2: a merge needs a text of 1 to 1000 characters";
  for (const text of [undefined, " \n ", "x".repeat(1_001)]) expect(await change({ text })).toBe(words);
  expect(await change({ text: "x".repeat(1_000) })).toMatchObject({ text: "x".repeat(1_000) });
  expect(await change({ text: "is hunter2-hunter2" })).toBe(
    "a.md#L1, b.md#L2: the text holds a key or password that Parley knows",
  );
  const scope = (untrusted: string) => ({ agent: "main", workspace: "/w/main", untrusted });
  await markLines(cells, scope("b.example"), "a.md", ["- tea"], ["- tea"]);
  await markLines(cells, scope("a.example"), "b.md", ["- Tea.", "- the tea"], ["- Tea."]);
  await markLines(cells, scope("b.example"), "b.md", ["- Tea.", "- the tea"], ["- the tea"]);
  expect(await change({ lines: ["a.md#L1", "b.md#L2", "b.md#L3"] })).toMatchObject({
    untrusted: "b.example, a.example",
  });
});

test("a change of lines that wait for an owner, or that one refused, is told so", async () => {
  const { change, keep, put } = await setUp();
  await keep("p1");
  expect(await change({ lines: ["a.md#L4", "c.md#L1"] })).toBe(
    "a.md#L4, c.md#L1: a proposal of these lines waits for an owner already",
  );
  await put("refused", "main", beer);
  expect(await change({ lines: ["c.md#L9", "a.md#L7"] })).toBe(
    "c.md#L9, a.md#L7: an owner has refused a change of these lines",
  );
});

test("proposals are listed newest first, those of one moment by their ids", async () => {
  const { book, keep } = await setUp();
  for (const [id, createdAtMs] of [
    ["c", 5],
    ["a", 5],
    ["d", 4],
    ["b", 6],
  ] as const)
    await keep(id, { createdAtMs });
  expect((await book.list()).map(({ proposal }) => proposal.id)).toEqual(["b", "a", "c", "d"]);
});
