// How the words of a vouched program are read, by a grammar of its own: what is attached, what stands apart,
// and where it is no more known.
import { expect, test } from "vitest";
import { readForm } from "../src/exec/known-form.ts";

const grammar = { short: "an#t:u?", long: "all number=# text= maybe[=]", paths: 2 };
const reads = (...args: readonly string[]): readonly string[] | null =>
  readForm(grammar, args)?.reads ?? null;

test.each<readonly [string, readonly string[] | null]>([
  ["f g", ["f", "g"]],
  ["f g h", null],
  ["-a f", ["f"]],
  ["-aa f", ["f"]],
  ["-b f", null],
  ["-n 5 f", ["f"]],
  ["-n -5 f", ["f"]],
  ["-n +5k f", ["f"]],
  ["-n5 f", ["f"]],
  ["-an5 f", ["f"]],
  ["-n x f", null],
  ["-n 1234567890 f", null],
  ["-n", null],
  ["-t x f", ["f"]],
  ["-t -a f", null],
  ["-t-a f", ["f"]],
  ["-t", null],
  ["-u f", ["f"]],
  ["-ux f", ["f"]],
  ["--all f", ["f"]],
  ["--all=x f", null],
  ["--al f", null],
  ["--number=5 f", ["f"]],
  ["--number=x f", null],
  ["--text=x f", ["f"]],
  ["--maybe f", ["f"]],
  ["--maybe=x f", ["f"]],
  ["-- -a f", ["-a", "f"]],
  ["-5 f", null],
])("%s reads %j", (line, expected) => {
  expect(reads(...line.split(" "))).toEqual(expected);
});
