// Which lines are forgotten, and what of a stored document is touched.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { forgetting } from "../src/forgetting.ts";
import { notes, type Notes } from "./notes.ts";

describe("forgetting", () => {
  test.each([
    ["door code", "The door code is 4711", true],
    ["door code", "The DOOR   Code", true],
    ["codes of doors", "a door has a code", true],
    ["door code", "the door is open", false],
    ["4711", "code 4711", true],
    ["北京", "他住在北京市", true],
    ["door code", "", false],
  ])("%j means %j: %s", (query, line, means) => {
    expect(forgetting(query)?.line(line)).toBe(means);
  });

  test.each(["", "a", "..", "?!", "  "])("%j says too little", (query) => {
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
    const look = await n.engine.forget(n.target, { query: "zanzibar4711", write: false });
    expect(look.lines).toEqual([
      { path: "MEMORY.md", line: 2, text: "- shed: zanzibar4711" },
      { path: ".parley/results/x.txt", line: 1, text: "found zanzibar4711" },
    ]);
    expect(await n.find("zanzibar4711")).toEqual(["MEMORY.md#1"]);
    await n.engine.forget(n.target, { query: "zanzibar4711", write: true });
    const { workspace, indexPath } = n.target;
    expect(readFileSync(join(workspace, "MEMORY.md"), "utf8")).toBe("# Keys\r\n- car: blue\r\n");
    expect(await n.find("zanzibar4711")).toEqual([]);
    for (const name of readdirSync(dirname(indexPath)))
      expect(readFileSync(join(dirname(indexPath), name)).includes("zanzibar")).toBe(false);
    expect(await n.find("car blue")).toEqual(["MEMORY.md#1"]);
  });
});
