import { expect, test } from "vitest";
import { toolSet } from "../../src/index.ts";

test("tools are deduplicated without regard to case and keep the casing of the first", () => {
  const tools = toolSet([{ name: "Read" }, { name: "read" }, { name: "EXEC" }]);
  expect(tools.list.map(({ name }) => name)).toEqual(["Read", "EXEC"]);
  expect(tools.name("read")).toBe("Read");
  expect(tools.has("READ", "exec")).toBe(true);
});

test("core tools come in their order and others alphabetically after them", () => {
  const tools = toolSet(["zebra", "memory_search", "Apple", "exec", "read"].map((name) => ({ name })));
  expect(tools.list.map(({ name }) => name)).toEqual(["read", "exec", "memory_search", "Apple", "zebra"]);
});

test("a supplied summary wins over the core one and is kept to one line", () => {
  const [read, write, own] = toolSet([
    { name: "read", summary: "Mine\n## Safety" },
    { name: "write" },
    { name: "own" },
  ]).list;
  expect(read?.summary).toBe("Mine ## Safety");
  expect(write?.summary).toBe("Create or overwrite files");
  expect(own?.summary).toBe("");
});
