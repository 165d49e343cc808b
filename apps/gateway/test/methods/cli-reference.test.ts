// What the prompt says of the command line is true: every command that it names exists.
import { readFileSync } from "node:fs";
import { promptSections } from "@parley/agent";
import { expect, test } from "vitest";

const program = readFileSync(new URL("../../../cli/src/program.ts", import.meta.url), "utf8");
const sources = ["cli-reference", "documentation"].map((name) =>
  readFileSync(new URL(`../../../../packages/agent/src/prompt/sections/${name}.ts`, import.meta.url), "utf8"),
);

test("the sections that name commands are in the prompt", () => {
  expect(promptSections.map(({ id }) => id)).toEqual(expect.arrayContaining(["cli_reference", "documentation"]));
});

test("every command that the prompt names is one of the program's", () => {
  const named = sources
    .flatMap((text) => [...text.matchAll(/`parley ([a-z]+)(?: ([a-z]+))?/g)])
    .map(([, name = "", sub]) => ({ name, sub }));
  expect(named.length).toBeGreaterThan(4);
  for (const { name, sub } of named) {
    const group = new RegExp(`program\\s*\\.command\\("${name}"\\)|[cC]ommand\\(program, "${name}[" ]`);
    expect(program, `parley ${name}`).toMatch(group);
    if (sub !== undefined) expect(program, `parley ${name} ${sub}`).toMatch(new RegExp(`[cC]ommand\\((?:${name}, )?"${sub}[" ]`));
  }
});
