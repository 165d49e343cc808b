// Which lines are forgotten, and what of a stored document is touched.
import { lstatSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { forgetting } from "../src/changes/forgetting.ts";
import { notes, plainSearch, type Notes } from "./notes.ts";

describe("forgetting", () => {
  test.each([
    ["door code", "The door code is 4711", true],
    ["door code", "The DOOR   Code", true],
    ["codes of doors", "a door has a code", true],
    ["door code", "the door is open", false],
    ["4711", "code 4711", true],
    ["北京", "他住在北京市", true],
    ["door code", "", false],
    ["tea", "we had tea", true],
    ["tea", "steam", false],
    ["team", "steamed", true],
    ["Team", "we STEAMED it", true],
    ["ste  amed", "we Ste\tamed it", true],
    ["forgotten", "[forgotten]", false],
    ["forgotten", "I have forgotten", true],
  ])("%j means %j: %s", (query, line, means) => {
    expect(forgetting(query)?.line(line)).toBe(means);
  });

  test.each(["", "a", "ab", "..", "?!", "  "])("%j says too little", (query) => {
    expect(forgetting(query)).toBeNull();
  });

  test("takes whole lines out of stored words, and leaves what holds records together", () => {
    const stored = {
      id: "telegram:default:4711",
      sender: { id: "4711", name: "4711" },
      content: [{ type: "text", text: "hello\nmy code is 4711\nbye" }],
      calls: [{ type: "toolCall", id: "4711", name: "write", args: { path: "4711.md", content: "4711" } }],
      inner: JSON.stringify({ text: "4711 again", turn: "4711" }),
    };
    expect(JSON.parse(forgetting("4711")?.json(JSON.stringify(stored)) ?? "null")).toEqual({
      id: "telegram:default:4711",
      sender: { id: "4711", name: "4711" },
      content: [{ type: "text", text: "hello\n[forgotten]\nbye" }],
      calls: [
        {
          type: "toolCall",
          id: "4711",
          name: "write",
          args: { path: "[forgotten]", content: "[forgotten]" },
        },
      ],
      inner: JSON.stringify({ text: "[forgotten]", turn: "4711" }),
    });
    expect(forgetting("4712")?.json(JSON.stringify(stored))).toBeNull();
  });
});

test.each(["read", "telegram", "followup", "disabled", "agent:main"])(
  "a record stays readable when %s is forgotten, because names of things are no words of people",
  (query) => {
    const record = {
      scopes: ["read", "write"],
      parent: "agent:main:telegram:default:direct:7",
      queue: { mode: "followup" },
      reason: "disabled",
      said: { text: `${query} this`, title: query, note: null },
      told: `somebody said ${query}`,
      args: { mode: query },
    };
    expect(JSON.parse(forgetting(query)?.json(JSON.stringify(record)) ?? "null")).toEqual({
      ...record,
      said: { text: "[forgotten]", title: "[forgotten]", note: null },
      told: "[forgotten]",
      args: { mode: "[forgotten]" },
    });
    expect(forgetting(query)?.json(query)).toBeNull();
    expect(forgetting(query)?.json(`He said ${query}.`)).toBe("[forgotten]");
  },
);

test("a word without blanks goes where words of another script stand in an unknown field", () => {
  expect(forgetting("北京")?.json('{"told":"他住在北京市"}')).toBe('{"told":"[forgotten]"}');
});

describe("in notes", () => {
  let n: Notes;
  afterEach(() => n.close());

  test("lines go from files and index, and no byte of them is left there", async () => {
    n = notes({
      "MEMORY.md": "# Keys\r\n- shed: zanzibar4711\r\n- car: blue\r\n",
      "memory/2026-11-20.md": "- nothing of it\n",
      ".parley/results/x.txt": "found zanzibar4711\nand more\n",
    });
    await n.find("zanzibar4711");
    const look = await n.engine.forget(n.target, { query: "zanzibar4711", write: false, nowMs: 1 });
    expect(look.lines).toEqual([
      { path: "MEMORY.md", line: 2, text: "- shed: zanzibar4711" },
      { path: ".parley/results/x.txt", line: 1, text: "found zanzibar4711" },
    ]);
    expect(await n.find("zanzibar4711")).toEqual(["MEMORY.md#1"]);
    await n.engine.forget(n.target, { query: "zanzibar4711", write: true, nowMs: 1 });
    const { workspace, indexPath } = n.target;
    expect(readFileSync(join(workspace, "MEMORY.md"), "utf8")).toBe("# Keys\r\n- car: blue\r\n");
    expect(await n.find("zanzibar4711")).toEqual([]);
    for (const name of readdirSync(dirname(indexPath)))
      expect(readFileSync(join(dirname(indexPath), name)).includes("zanzibar")).toBe(false);
    expect(await n.find("car blue")).toEqual(["MEMORY.md#1"]);
  });

  test("what a link in the workspace names loses them too, and drafts of a process that died", async () => {
    n = notes({ "memory/real.txt": "- shed: zanzibar4711\n- car: blue\n" });
    const { workspace } = n.target;
    symlinkSync("memory/real.txt", join(workspace, "MEMORY.md"));
    n.write("memory/old.md.parley-draft", "- shed: zanzibar4711\n");
    n.write("memory/old.md", "- tea\n");
    await n.engine.forget(n.target, { query: "zanzibar4711", write: true, nowMs: 1 });
    expect(readFileSync(join(workspace, "memory/real.txt"), "utf8")).toBe("- car: blue\n");
    expect(lstatSync(join(workspace, "MEMORY.md")).isSymbolicLink()).toBe(true);
    expect(readdirSync(join(workspace, "memory")).toSorted()).toEqual(["old.md", "real.txt"]);
  });

  test("an index of another node has no byte of them after its next search, and one in the same folder at once", async () => {
    n = notes({ "MEMORY.md": "- shed: zanzibar4711\n- car: blue\n" });
    const folder = dirname(n.target.indexPath);
    const other = { ...n.target, indexPath: join(folder, "main@b.sqlite") };
    const far = { ...n.target, indexPath: join(n.target.workspace, "../far/main.sqlite") };
    const found = async (target: typeof far, forgottenMs?: number): Promise<number> =>
      (
        await n.engine.search(target, {
          ...plainSearch,
          query: "zanzibar4711",
          ...(forgottenMs === undefined ? {} : { forgottenMs }),
        })
      ).hits.length;
    const bytes = (path: string): boolean =>
      readdirSync(path).some((name) => readFileSync(join(path, name)).includes("zanzibar"));
    for (const target of [n.target, other, far]) expect(await found(target)).toBe(1);
    await n.engine.forget(n.target, { query: "zanzibar4711", write: true, nowMs: 7 });
    expect(readdirSync(folder).filter((name) => name.includes("@"))).toEqual([]);
    expect([bytes(folder), bytes(dirname(far.indexPath))]).toEqual([false, true]);
    expect([await found(far, 7), await found(other, 7)]).toEqual([0, 0]);
    expect(bytes(dirname(far.indexPath))).toBe(false);
    expect(await n.find("car blue", { forgottenMs: 7 })).toEqual(["MEMORY.md#1"]);
  });
});
