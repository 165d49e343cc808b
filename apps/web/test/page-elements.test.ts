import { expect, test } from "vitest";
import type { Page } from "../src/parts/page.ts";
import type { PageEntry } from "../src/parts/places.ts";
import { pageElements, type PageElements } from "../src/shell/page-elements.ts";

class AnyPage {}

/** A browser's names of elements: it refuses one that is taken. */
function elements(): PageElements {
  const names = new Set<string>();
  return pageElements((tag) => {
    if (names.has(tag)) throw new Error(`the name "${tag}" has already been used with this registry`);
    names.add(tag);
    return { tag } as unknown as Page;
  });
}

function entry(load: () => Promise<void>): PageEntry {
  return {
    path: "approvals",
    place: "approvals",
    title: "Approvals",
    scope: "read",
    load: async () => {
      await load();
      return AnyPage as unknown as new () => Page;
    },
  };
}

test("a page that is wanted twice while its code is on its way is made once", async () => {
  const all = elements();
  let arrive = (): void => {};
  const wait = new Promise<void>((resolve) => (arrive = resolve));
  const approvals = entry(() => wait);
  const both = [all.make(approvals), all.make(approvals)];
  expect(all.get("approvals")).toBeUndefined();
  arrive();
  const [first, second] = await Promise.all(both);
  expect(second).toBe(first);
  expect(all.get("approvals")).toBe(first);
  expect(await all.make(approvals)).toBe(first);
});

test("a page whose code did not come is told to everybody who waits, and is made when it comes", async () => {
  const all = elements();
  let asked = 0;
  const approvals = entry(async () => {
    asked += 1;
    if (asked === 1) throw new Error("the gateway is away");
  });
  const told = await Promise.allSettled([all.make(approvals), all.make(approvals)]);
  expect(told.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(asked).toBe(1);
  expect(await all.make(approvals)).toBe(all.get("approvals"));
});
