// What is kept of a server's tools: what counts after the first listing, what an approval changes, and two
// nodes that list at once.
import { describe, expect, test } from "vitest";
import type { Definition } from "../src/definition.ts";
import { pinStore, usable, waiting, waitingCode, type PinCells } from "../src/pins.ts";

const tool = (name: string, description = `Does ${name}`): Definition => ({
  name,
  description,
  schema: { type: "object" },
  readOnly: false,
});
const names = (tools: readonly { readonly name: string }[]): readonly string[] =>
  tools.map(({ name }) => name);

/** `meanwhile`: what another node does between reading and writing. */
function world(meanwhile: (cells: PinCells) => Promise<unknown> = async () => {}) {
  const kept = new Map<string, { readonly value: string; readonly version: number }>();
  let puts = 0;
  const cells: PinCells = {
    get: async (key) => kept.get(key) ?? null,
    async put(key, value, { expect: wanted }) {
      const now = kept.get(key)?.version ?? 0;
      if (wanted !== undefined && wanted !== now) return null;
      kept.set(key, { value, version: now + 1 });
      return { version: now + 1 };
    },
    remove: async (key) => kept.delete(key),
  };
  const store = pinStore({
    ...cells,
    async put(...how) {
      puts += 1;
      await meanwhile(cells);
      return cells.put(...how);
    },
  });
  const listed = (
    tools: readonly Definition[],
    more: { identity?: string; approveFirst?: boolean } = {},
    server = "s",
  ) =>
    store.listed(server, { tools, leftOut: [] }, { identity: "one", approveFirst: false, atMs: 5, ...more });
  return { kept, cells, store, listed, puts: () => puts };
}

test("the first listing counts unless the config wants an approval, later ones wait, and each server has its own", async () => {
  const { listed, store } = world();
  const first = await listed([tool("a")]);
  expect([first.before, names(usable(first.pins)), names(waiting(first.pins))]).toEqual([null, ["a"], []]);
  const then = await listed([tool("a"), tool("b")]);
  expect([then.before, names(usable(then.pins)), names(waiting(then.pins))]).toEqual([
    first.pins,
    ["a"],
    ["b"],
  ]);
  const other = await listed([tool("a")], { approveFirst: true }, "other");
  expect([other.before, names(usable(other.pins)), names(waiting(other.pins))]).toEqual([null, [], ["a"]]);
  expect(await store.get("s")).toEqual(then.pins);
  expect(await store.get("none")).toBeNull();
  expect([await store.forget("s"), await store.forget("s"), await store.get("s")]).toEqual([
    true,
    false,
    null,
  ]);
  expect(await store.get("other")).toEqual(other.pins);
});

test("a record of another form is no approval", async () => {
  const { kept, listed, store } = world();
  const { pins } = await listed([tool("a")]);
  kept.set("mcp:pins:s", { value: JSON.stringify({ ...pins, v: 2 }), version: 4 });
  expect(await store.get("s")).toBeNull();
  await expect(store.approve("s")).rejects.toMatchObject({
    code: "missing",
    message: 'nothing is known of the tools of "s": `parley mcp test s`',
  });
  await listed([tool("b")]);
  expect(kept.get("mcp:pins:s")?.version).toBe(5);
});

describe("an approval", () => {
  test("is for what the person saw: its code in either case, and no other", async () => {
    const { listed, store } = world();
    await listed([tool("a")]);
    const { pins } = await listed([tool("a", "says something else"), tool("b")]);
    const code = waitingCode(pins);
    await expect(store.approve("s", "00000000")).rejects.toMatchObject({
      code: "conflict",
      message: 'what "s" offers has changed since that code was shown: look again (`parley mcp list`)',
    });
    expect(await store.get("s")).toEqual(pins);
    const approved = await store.approve("s", code.toUpperCase());
    expect([approved.tools, names(usable(approved.pins)), waiting(approved.pins)]).toEqual([
      ["a", "b"],
      ["a", "b"],
      [],
    ]);
    expect(usable(approved.pins)[0]?.description).toBe("says something else");
    // Nothing waits any more: whoever is late with the same code approves nothing.
    expect((await store.approve("s", code)).tools).toEqual([]);
    // What it said before has to be approved anew.
    expect(names(waiting((await listed([tool("a"), tool("b")])).pins))).toEqual(["a"]);
  });

  test("leaves alone what was approved and is gone now", async () => {
    const { listed, store } = world();
    await listed([tool("a"), tool("b")]);
    await listed([tool("b"), tool("c")]);
    const { pins, tools } = await store.approve("s");
    expect([tools, names(usable(pins))]).toEqual([["c"], ["b", "c"]]);
    expect(names(usable((await listed([tool("a"), tool("b"), tool("c")])).pins))).toEqual(["a", "b", "c"]);
  });
});

test("of two nodes that list at once each sees what the other wrote; who never gets through is told", async () => {
  let others = 1;
  const once = world(async (cells) => {
    if (others-- > 0)
      await pinStore(cells).listed(
        "s",
        { tools: [tool("x")], leftOut: [] },
        { identity: "one", approveFirst: false, atMs: 1 },
      );
  });
  const { pins, before } = await once.listed([tool("x"), tool("y")]);
  // The other one was first, so what is new here waits.
  expect([names(usable(pins)), names(waiting(pins)), before?.listedAtMs, once.puts()]).toEqual([
    ["x"],
    ["y"],
    1,
    2,
  ]);
  let nth = 0;
  const always = world((cells) =>
    pinStore(cells).listed(
      "s",
      { tools: [tool("x")], leftOut: [] },
      { identity: "one", approveFirst: false, atMs: (nth += 1) },
    ),
  );
  await expect(always.listed([tool("x")])).rejects.toMatchObject({
    code: "conflict",
    message: 'what is known of the MCP server "s" changes all the time',
  });
  expect(always.puts()).toBe(8);
});
