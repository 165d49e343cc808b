// The words after `parley start`.
import { expect, test } from "vitest";
import { startWords } from "../../src/daemon/start-words.ts";

test("say the role, the name and the port of a process among several", () => {
  const told = (line: string): unknown => {
    try {
      return startWords(line === "" ? [] : line.split(" "));
    } catch (error) {
      const { code, message } = error as { code: string; message: string };
      return `${code}: ${message.split("\n").at(-1)}`;
    }
  };
  const usage = "invalid: parley start takes --role all|edge|worker, --node <name>, --port <port>";
  const port = (text: string): string => `invalid: --port "${text}": a number from 0 to 65535`;
  for (const [line, wanted] of [
    ["", { role: "all" }],
    ["--role edge --node n --port 65535", { role: "edge", node: "n", port: 65_535 }],
    ["--port=0", { role: "all", port: 0 }],
    ["--port=65536", port("65536")],
    ["--port=-1", port("-1")],
    ["--port=8e1", port("8e1")],
    ["--port=000080", port("000080")],
    ["--port=", port("")],
    ["--other", usage],
    ["word", usage],
  ] as const)
    expect([line, told(line)]).toEqual([line, wanted]);
  expect(told("--role leader")).toMatch(/^invalid: /);
});
