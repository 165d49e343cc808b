// A list as somebody uses it: its rows by two hundred, what comes while they read, the filter, and a press
// on a row.
import { html } from "lit";
import { expect, test, vi } from "vitest";
import { List, type ListParts } from "../../src/parts/list.ts";
import { browser, fire, markup, mounted, named, settled } from "../drawn.ts";

class DrawnList extends List {}
customElements.define("drawn-list", DrawnList);

const drinks = (rows: readonly string[], more: Partial<ListParts<unknown>> = {}): ListParts<unknown> => ({
  label: "Drinks",
  rows,
  columns: [
    { label: "Name", cell: (row) => html`<b>${row}</b>` },
    { label: "Letters", cell: (row) => String(row).length, isNumeric: true, isWide: true },
    { label: "Act", cell: () => html`<button>act</button>`, isWide: true },
  ],
  keyOf: (row) => `key ${String(row)}`,
  hrefOf: (row) => `#/${String(row)}`,
  textOf: (row) => `${String(row)} cup`,
  empty: html`<p>no drinks</p>`,
  ...more,
});

async function list(parts: ListParts<unknown>) {
  browser();
  const { element, place } = mounted(Object.assign(new DrawnList(), { parts }));
  await settled();
  const rows = (): readonly string[] =>
    [...place.querySelectorAll("tbody b")].map((each) => each.textContent);
  const buttons = (): readonly string[] =>
    [...place.querySelectorAll("button.list-new")].map((each) => each.textContent.trim());
  return {
    place,
    rows,
    buttons,
    async give(next: readonly string[]) {
      element.parts = { ...element.parts, rows: next };
      await settled();
    },
    async press(words: string) {
      await fire(named(place, words), "click");
    },
    async focus(selector: string) {
      place.querySelector<HTMLElement>(selector)?.focus();
      await settled();
    },
    async filter(words: string) {
      const field = place.querySelector("input");
      if (field !== null) field.value = words;
      await fire(field, "input");
    },
  };
}

test("a row names its object, marks the one that is open, and says which columns a phone leaves out", async () => {
  const { place } = await list(drinks(["tea"], { chosen: "key tea" }));
  expect(markup(place)).toBe(
    '<div class="list-tools"><input value="" type="search" aria-label="Filter" placeholder="Filter"></div>' +
      '<div class="list-scroll"><table class="list" aria-label="Drinks"><thead><tr>' +
      '<th scope="col">Name</th><th scope="col" class="wide-only numeric">Letters</th>' +
      '<th scope="col" class="wide-only">Act</th></tr></thead><tbody><tr data-key="key tea" class="chosen">' +
      '<td><a class="row-link" href="#/tea" aria-current="true"><b>tea</b></a></td>' +
      '<td class="wide-only numeric"> 3 </td><td class="wide-only"><button>act</button></td>' +
      "</tr></tbody></table></div>",
  );
  const other = await list(drinks(["tea"], { chosen: "tea", tools: html`<i>tools</i>` }));
  expect(other.place.querySelector("tr[data-key]")?.getAttribute("class")).toBe("");
  expect(other.place.querySelector("a")?.hasAttribute("aria-current")).toBe(false);
  expect(markup(other.place)).toMatch(/^<div class="list-tools"><input [^>]+><i>tools<\/i><\/div>/);
});

test("two hundred rows are drawn, and as many more at each press", async () => {
  const all = Array.from({ length: 401 }, (_, at) => `d${at}`);
  const columns = [{ label: "Name", cell: (row: unknown) => html`<b>${row}</b>` }];
  const { rows, buttons, press, filter } = await list(drinks(all, { columns }));
  expect([rows().length, buttons()]).toEqual([200, ["Show 200 more"]]);
  await press("Show 200 more");
  expect([rows().length, rows().at(-1), buttons()]).toEqual([400, "d399", ["Show 1 more"]]);
  await press("Show 1 more");
  expect([rows().length, rows().at(-1), buttons()]).toEqual([401, "d400", []]);
  const just = await list(drinks(all.slice(0, 200), { columns }));
  expect([just.rows().length, just.buttons()]).toEqual([200, []]);
  // What is found counts, not what there is.
  const found = await list(drinks(all, { columns }));
  await found.filter("d1");
  expect([found.rows().length, found.buttons()]).toEqual([111, []]);
  await filter("d400 CUP ");
  expect(rows()).toEqual(["d400"]);
});

test("a list that somebody reads does not move: what is new waits, what goes is gone", async () => {
  const { place, rows, buttons, give, press, focus } = await list(drinks(["a", "b", "c"]));
  await give(["n", "a", "b", "c"]);
  expect([rows(), buttons()]).toEqual([["n", "a", "b", "c"], []]);
  await focus("tbody tr:nth-child(2) a");
  await give(["y", "x", "n", "a", "c"]);
  expect([rows(), buttons()]).toEqual([["n", "a", "c"], ["2 new"]]);
  // From one row to the next they read on.
  await focus("tbody tr:nth-child(3) a");
  expect(rows()).toEqual(["n", "a", "c"]);
  await press("2 new");
  expect([rows(), buttons()]).toEqual([["y", "x", "n", "a", "c"], []]);
  await focus("tbody tr:nth-child(1) a");
  await give(["z", "y"]);
  expect([rows(), buttons()]).toEqual([["y"], ["1 new"]]);
  // The row that has the focus was drawn anew.
  await focus("tbody tr:nth-child(1) a");
  document.body.focus();
  await settled();
  expect([rows(), buttons(), place.querySelectorAll("tr").length]).toEqual([["z", "y"], [], 3]);
});

test("the filter tells what is looked for, and what it leaves is said", async () => {
  const heard: string[] = [];
  const { place, rows, filter, give } = await list(
    drinks(["tea", "coffee"], { onFilter: (wanted) => void heard.push(wanted) }),
  );
  await filter(" Tea");
  await filter("juice");
  expect([heard, rows(), place.querySelector("p.empty")?.textContent]).toEqual([
    [" Tea", "juice"],
    [],
    "Nothing matches the filter.",
  ]);
  await give([]);
  expect([place.querySelector("p")?.textContent, place.querySelectorAll("p, table").length]).toEqual([
    "no drinks",
    1,
  ]);
  const { textOf: _, ...without } = drinks(["tea"]);
  const plain = await list(without);
  expect(plain.place.querySelector(".list-tools, input")).toBe(null);
  const tools = await list({ ...without, tools: html`<i>tools</i>` });
  expect(markup(tools.place)).toMatch(/^<div class="list-tools"><i>tools<\/i><\/div>/);
});

test("a press anywhere in a row opens it, but not one on a button, nor the end of selecting its words", async () => {
  const { place } = await list(drinks(["tea"]));
  let opened = 0;
  place.querySelector("a.row-link")?.addEventListener("click", (event) => {
    opened += 1;
    event.stopPropagation();
  });
  let isCollapsed: boolean | null = true;
  vi.stubGlobal("getSelection", () => (isCollapsed === null ? null : { isCollapsed }));
  const press = async (selector: string): Promise<number> => {
    const before = opened;
    await fire(place.querySelector(selector), "click");
    return opened - before;
  };
  expect([await press("td:nth-child(2)"), await press("td button"), await press("tr[data-key]")]).toEqual([
    1, 0, 1,
  ]);
  isCollapsed = false;
  expect(await press("td:nth-child(2)")).toBe(0);
  isCollapsed = null;
  expect(await press("td:nth-child(2)")).toBe(1);
});
