import { expect, test } from "vitest";
import { z } from "zod";
import { inOneLine } from "../src/in-one-line.ts";

test("what is wrong with parameters stands in one line, each with its path", () => {
  const shape = z.object({ line: z.string().min(1), job: z.object({ max: z.number() }) });
  const { error } = shape.safeParse({ line: "", job: { max: "x" } });
  expect(error === undefined ? "" : inOneLine(error)).toBe(
    "line: is empty; job.max: invalid input: expected number, received string",
  );
});
