// The tree of sub-agents: who stands under whom, what is folded at first, and where the keys lead.
import { expect, test } from "vitest";
import {
  branchesOf,
  isAtWork,
  opensFirst,
  rowsOf,
  treeStep,
  type Child,
  type ChildRow,
} from "../src/view/child-rows.ts";

const node = (key: string, depth: number, state: Child["state"] = "answered"): Child => ({
  key,
  parent: null,
  depth,
  label: null,
  task: null,
  state,
  reason: null,
  startedAtMs: 0,
  endedAtMs: null,
  tokens: 0,
});
const tree = [
  node("root", 0, "working"),
  node("a", 1),
  node("a1", 2),
  node("a11", 3, "running"),
  node("a2", 2),
  node("b", 1, "failed"),
  node("c", 1),
  node("c1", 2),
];
const drawn = (rows: readonly ChildRow[]): readonly string[] =>
  rows.map(
    ({ child, level, place, of, isOpen, parent }) =>
      `${"  ".repeat(level - 1)}${child.key} ${place}/${of} ${isOpen ?? "-"} ${parent ?? ""}`,
  );
const open = rowsOf(branchesOf(tree), () => true);

test("each stands under whoever spawned it, with or without the session itself", () => {
  const all = [
    "a 1/3 true ",
    "  a1 1/2 true a",
    "    a11 1/1 - a1",
    "  a2 2/2 - a",
    "b 2/3 - ",
    "c 3/3 true ",
    "  c1 1/1 - c",
  ];
  expect(drawn(open)).toEqual(all);
  expect(drawn(rowsOf(branchesOf(tree.slice(1)), () => true))).toEqual(all);
  expect(drawn(rowsOf(branchesOf(tree), ({ child }) => child.key !== "a"))).toEqual([
    "a 1/3 false ",
    "b 2/3 - ",
    "c 3/3 true ",
    "  c1 1/1 - c",
  ]);
  expect(branchesOf([])).toEqual([]);
});

test("what has ended is folded where there are many, what is at work is seen", () => {
  const first = (nodes: number) => rowsOf(branchesOf(tree), (branch) => opensFirst(branch, nodes));
  expect(drawn(first(30))).toEqual(drawn(open));
  expect(drawn(first(31)).map((line) => line.trim().split(" ")[0])).toEqual([
    "a",
    "a1",
    "a11",
    "a2",
    "b",
    "c",
  ]);
  expect(tree.filter(isAtWork).map(({ key }) => key)).toEqual(["root", "a11"]);
});

test("the arrows go on, in and out, and open and close, as in any tree", () => {
  const closed = rowsOf(branchesOf(tree), ({ child }) => child.key !== "c" && child.key !== "a1");
  const keys = (rows: readonly ChildRow[], at: string, ...all: readonly string[]) =>
    all.map((key) => treeStep(rows, at, key));
  expect(keys(open, "a1", "ArrowDown", "ArrowUp", "Home", "End")).toEqual([
    { to: "a11" },
    { to: "a" },
    { to: "a" },
    { to: "c1" },
  ]);
  expect(keys(open, "a", "ArrowUp", "ArrowRight", "ArrowLeft", "x", "Enter")).toEqual([
    { to: "a" },
    { to: "a1" },
    { close: "a" },
    null,
    null,
  ]);
  expect(keys(open, "c1", "ArrowDown", "ArrowRight", "ArrowLeft")).toEqual([
    { to: "c1" },
    { to: "c1" },
    { to: "c" },
  ]);
  expect(keys(closed, "c", "ArrowRight", "ArrowLeft")).toEqual([{ open: ["c"] }, { to: "c" }]);
  expect(keys(closed, "a2", "*")).toEqual([{ open: ["a1"] }]);
  expect(treeStep(open, "gone", "ArrowDown")).toBe(null);
});
