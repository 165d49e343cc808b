// The tree of sub-agents as somebody goes through it: what a press and a key open and close, where Tab
// leads, and the older ones that come when they are asked for.
import { expect, test } from "vitest";
import { ChildTree } from "../../src/view/child-tree.ts";
import type { Child } from "../../src/view/child-rows.ts";
import { browser, fire, mounted, named, settled } from "../drawn.ts";
import { nowMs } from "../pages/show-page.ts";

class DrawnTree extends ChildTree {}
customElements.define("drawn-child-tree", DrawnTree);

const child = (key: string, depth: number, more: Partial<Child> = {}): Child => ({
  key,
  parent: null,
  depth,
  label: key,
  task: null,
  state: "answered",
  reason: null,
  startedAtMs: nowMs - 61_000,
  endedAtMs: nowMs - 1_000,
  tokens: 0,
  ...more,
});

async function tree(children: readonly Child[], hrefOf: (key: string) => string | null = () => null) {
  browser();
  const made = Object.assign(new DrawnTree(), { tree: [...children], nowMs, hrefOf });
  const { place } = mounted(made);
  await settled();
  const rows = (): HTMLElement[] => [...place.querySelectorAll<HTMLElement>(".child-row")];
  const row = (key: string): HTMLElement => {
    const found = rows().find((each) => each.dataset["key"] === key);
    if (found === undefined) throw new Error(`no row is ${key}`);
    return found;
  };
  return {
    made,
    place,
    row,
    keys: () => rows().map((each) => each.dataset["key"]),
    /** The row that Tab leads to. */
    tab: () => rows().flatMap((each) => (each.getAttribute("tabindex") === "0" ? [each.dataset["key"]] : [])),
    async key(at: string, key: string, more: object = {}) {
      const event = await fire(row(at), "keydown", { key, ...more });
      return event.defaultPrevented;
    },
    async press(at: string, on = ".child-words") {
      return (await fire(row(at).querySelector(on), "click")).defaultPrevented;
    },
    async give(next: readonly Child[]) {
      made.tree = [...next];
      await settled();
    },
  };
}

const family = [
  child("a", 1, { state: "running", endedAtMs: null, task: "dig\u202e" }),
  child("a1", 2),
  child("a2", 2, { state: "failed", reason: "no spade", label: null }),
  child("b", 1, { task: "" }),
];

test("each row says where it stands, how it does and for how long", async () => {
  const t = await tree(family, (key) => (key === "b" ? null : `#/${key}`));
  const attributes = (key: string): readonly (string | null)[] =>
    ["href", "tabindex", "aria-level", "aria-posinset", "aria-setsize", "aria-expanded"].map((name) =>
      t.row(key).getAttribute(name),
    );
  expect(["a", "a1", "a2", "b"].map(attributes)).toEqual([
    ["#/a", "0", "1", "1", "2", "true"],
    ["#/a1", "-1", "2", "1", "2", null],
    ["#/a2", "-1", "2", "2", "2", null],
    [null, "-1", "1", "2", "2", null],
  ]);
  const words = (key: string): string => t.row(key).textContent.replaceAll(/\s+/g, " ").trim();
  expect(["a", "a1", "a2", "b"].map(words)).toEqual([
    "› a dig\\u{202e} working 1 min 1 s",
    "a1 done 1 min",
    "a2 no spade failed 1 min",
    "b done 1 min",
  ]);
});

test("a press opens and closes what leads nowhere, the twist also what leads somewhere", async () => {
  const t = await tree(family);
  expect([await t.press("a"), t.keys()]).toEqual([true, ["a", "b"]]);
  expect([await t.press("a"), t.keys()]).toEqual([true, ["a", "a1", "a2", "b"]]);
  expect(await t.press("b")).toBe(false);
  const linked = await tree(family, (key) => `#/${key}`);
  expect([await linked.press("a"), linked.keys().length]).toEqual([false, 4]);
  expect([await linked.press("a", ".twist"), linked.keys()]).toEqual([true, ["a", "b"]]);
});

test("keys go through the tree and take the focus along; with a modifier they are the browser's", async () => {
  const t = await tree(family);
  expect([await t.key("a", "ArrowDown", { ctrlKey: true }), await t.key("a", "x")]).toEqual([false, false]);
  expect([await t.key("a", "ArrowDown"), t.tab(), document.activeElement?.getAttribute("data-key")]).toEqual([
    true,
    ["a1"],
    "a1",
  ]);
  expect([await t.key("a", "ArrowLeft"), t.keys()]).toEqual([true, ["a", "b"]]);
  // The row that Tab led to is gone: it leads to the first.
  expect(t.tab()).toEqual(["a"]);
  expect([await t.key("a", "ArrowRight"), t.keys().length]).toEqual([true, 4]);
  await fire(t.row("b"), "focus");
  expect(t.tab()).toEqual(["b"]);
  for (const held of ["metaKey", "altKey"]) expect(await t.key("b", "Home", { [held]: true })).toBe(false);
});

test("what somebody opened or saw stays so when it ends and when many come", async () => {
  const t = await tree(family);
  const ended = [child("a", 1), ...family.slice(1)];
  await t.give([...ended, ...Array.from({ length: 40 }, (_, at) => child(`n${at}`, 1))]);
  expect(t.keys().slice(0, 4)).toEqual(["a", "a1", "a2", "b"]);
  const fresh = await tree([...ended, ...Array.from({ length: 40 }, (_, at) => child(`n${at}`, 1))]);
  expect(fresh.keys().slice(0, 2)).toEqual(["a", "b"]);
});

test("of the first level the newest hundred are shown, and the others when somebody asks", async () => {
  const many = Array.from({ length: 102 }, (_, at) => child(`n${at}`, 1));
  const t = await tree(many);
  expect([t.keys().length, t.keys()[0]]).toEqual([100, "n2"]);
  await fire(named(t.place, "Show 2 earlier ones"), "click");
  expect([t.keys().length, t.keys()[0], t.place.querySelector("button")]).toEqual([102, "n0", null]);
  const just = await tree(many.slice(2));
  expect(just.place.querySelector("button")).toBe(null);
});
