import { expect, test } from "vitest";
import { toolsThatDoNotFit } from "../src/tools/tools-that-fit.ts";

const tool = (name: string, chars: number) => ({ name, description: "x".repeat(chars), parameters: {} });
const names = (tools: readonly ReturnType<typeof tool>[], window: number): readonly string[] =>
  toolsThatDoNotFit(tools, window).map((each) => each.tool);

test("a window with room for all leaves none out", () => {
  expect(names([tool("a", 4_000), tool("b", 1_000)], 8_000)).toEqual([]);
});

test("the longest go first, and only as many as it takes", () => {
  const tools = [tool("small", 400), tool("large", 8_000), tool("middle", 4_000), tool("tiny", 40)];
  expect(names(tools, 6_000)).toEqual(["large"]);
  expect(names(tools, 2_000)).toEqual(["large", "middle"]);
  expect(names(tools, 100)).toEqual(["large", "middle", "small"]);
});

test("the reason names the sizes", () => {
  expect(toolsThatDoNotFit([tool("large", 8_000)], 4_000)).toEqual([
    { tool: "large", reason: expect.stringMatching(/^its description \(20\d\d tokens\).* take 1000 tokens/) },
  ]);
});
