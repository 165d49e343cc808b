import { expect, test } from "vitest";
import type { Definition } from "../src/definition.ts";
import { afterListing, usable, waiting, waitingCode, type Pins } from "../src/pins.ts";

const tool = (name: string, more: Partial<Definition> = {}): Definition => ({
  name,
  description: `Does ${name}`,
  schema: { type: "object" },
  readOnly: false,
  ...more,
});
const about = { server: "s", identity: "one", trusted: false, atMs: 0 };
const listed = (before: Pins | null, tools: readonly Definition[], more: Partial<typeof about> = {}): Pins =>
  afterListing(before, { tools, leftOut: [] }, { ...about, ...more });
const names = (tools: readonly { readonly name: string }[]): readonly string[] =>
  tools.map(({ name }) => name);

const first = listed(null, [tool("a"), tool("b")], { trusted: true });

test("what is listed first counts where it is trusted, and waits where not", () => {
  expect(names(usable(first))).toEqual(["a", "b"]);
  expect(waitingCode(first)).toBe("");
  const asked = listed(null, [tool("a")]);
  expect([names(usable(asked)), names(waiting(asked))]).toEqual([[], ["a"]]);
});

test("every part of a definition is pinned: words, arguments, what it says it does, and whose it is", () => {
  for (const changed of [
    { description: "Does a." },
    { schema: { type: "object", required: ["x"] } },
    { readOnly: true },
  ] as const) {
    const now = listed(first, [tool("a", changed), tool("b")]);
    expect([names(usable(now)), names(waiting(now))]).toEqual([["b"], ["a"]]);
    expect(waiting(now)[0]?.before).toEqual(tool("a"));
  }
  const swapped = listed(first, [tool("a"), tool("b")], { identity: "two" });
  expect([names(usable(swapped)), names(waiting(swapped))]).toEqual([[], ["a", "b"]]);
});

test("what goes and comes back as it was counts again; what comes back otherwise waits", () => {
  const gone = listed(first, [tool("b")]);
  expect([names(usable(gone)), names(waiting(gone))]).toEqual([["b"], []]);
  expect(names(usable(listed(gone, [tool("a"), tool("b")])))).toEqual(["a", "b"]);
  expect(names(waiting(listed(gone, [tool("a", { description: "other" }), tool("b")])))).toEqual(["a"]);
});

test("the code names exactly what waits", () => {
  const one = listed(first, [tool("a", { description: "x" }), tool("b")]);
  const other = listed(first, [tool("a", { description: "y" }), tool("b")]);
  expect(waitingCode(one)).toMatch(/^[0-9a-f]{8}$/);
  expect(waitingCode(other)).not.toBe(waitingCode(one));
  expect(waitingCode(listed(one, [tool("a", { description: "x" }), tool("b")]))).toBe(waitingCode(one));
});
