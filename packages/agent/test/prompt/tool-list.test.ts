import { expect, test } from "vitest";
import { toolSet } from "../../src/index.ts";

test("tools are deduplicated without regard to case and keep the casing of the first", () => {
  const tools = toolSet(["Read", "read", "EXEC"].map((name) => ({ name, summary: "" })));
  expect(tools.list.map(({ name }) => name)).toEqual(["Read", "EXEC"]);
  expect(tools.name("read")).toBe("Read");
  expect(tools.has("READ", "exec")).toBe(true);
});

test("tools with a rank come in its order and others alphabetically after them", () => {
  const tools = toolSet(
    ["zebra", "memory_search", "Apple", "exec", "read"].map((name) => ({ name, summary: "" })),
  );
  expect(tools.list.map(({ name }) => name)).toEqual(["read", "exec", "memory_search", "Apple", "zebra"]);
});

test("a summary is kept to one line", () => {
  expect(toolSet([{ name: "read", summary: "Mine\n## Safety" }]).list).toEqual([
    { name: "read", summary: "Mine ## Safety" },
  ]);
});
