// known-table.txt signs the table of vouched programs a second time: it says what each program does with
// every letter, every name and so many operands, so no member changes, comes or goes unseen. Whoever
// changes the table puts the lines that this test shows in place of the old ones.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { namesBeside, tableLine } from "./known-table.ts";

const lines = readFileSync(join(import.meta.dirname, "known-table.txt"), "utf8")
  .trimEnd()
  .split("\n");

test.each(lines.map((line) => [line.slice(0, line.indexOf(" | ")), line]))("%s", (program, line) => {
  expect(tableLine(program, namesBeside(line, lines)).trimEnd()).toBe(line);
});
