// Each rule of the house is shown a small tree that breaks it, and one that does not: a rule that cannot fail
// is no rule.
import { describe, expect, test } from "vitest";
import { commentFindings } from "../src/comments.ts";
import { contractFindings, contractsMissing, wiringFindings } from "../src/contracts.ts";
import { corePathFindings } from "../src/core-path.ts";
import { cycleFindings } from "../src/cycles.ts";
import { docFindings } from "../src/docs.ts";
import { listFindings } from "../src/lists.ts";
import { nameFindings } from "../src/names.ts";
import { portFindings } from "../src/ports.ts";
import { sizeReport } from "../src/sizes.ts";
import { suiteFindings } from "../src/suites.ts";
import { treeOf, type Findings, type Tree } from "../src/tree.ts";
import { heavyFindings, wallFindings } from "../src/walls.ts";

const manifest = (
  name: string,
  dependencies: readonly string[] = [],
  devDependencies: readonly string[] = [],
): string => {
  const listed = (names: readonly string[]): object => Object.fromEntries(names.map((it) => [it, "1"]));
  return JSON.stringify({
    name: `@parley/${name}`,
    dependencies: listed(dependencies),
    devDependencies: listed(devDependencies),
  });
};

/** One file of the store package, with what its manifest declares. */
const store = (text: string, dependencies: readonly string[] = [], file = "packages/store/src/a.ts"): Tree =>
  treeOf({
    "package.json": manifest("root", [], ["vitest"]),
    "packages/store/package.json": manifest("store", dependencies),
    [file]: text,
  });

const oneFile = (name: string, text: string): Tree => treeOf({ [name]: text });

describe("walls", () => {
  const findings = (text: string, dependencies: readonly string[], file?: string): Findings =>
    wallFindings(store(text, dependencies, file));

  test("a declared, allowed, used import passes", () => {
    expect(
      findings('import { a } from "@parley/protocol"; import fs from "node:fs"; import z from "zod";', [
        "@parley/protocol",
        "zod",
      ]),
    ).toEqual([]);
  });

  test.each([
    ["an import that is not declared", 'import z from "zod";', [], "not declared"],
    [
      "a package that the table does not allow",
      'import { a } from "@parley/agent";',
      ["@parley/agent"],
      "table of imports",
    ],
    ["the same as a type", 'import type { A } from "@parley/agent";', ["@parley/agent"], "table of imports"],
    [
      "the same inside a type expression",
      'export type A = import("@parley/agent").A;',
      ["@parley/agent"],
      "table of imports",
    ],
    ["the same, lazily", 'await import("@parley/agent");', ["@parley/agent"], "table of imports"],
    ["the same, re-exported", 'export * from "@parley/agent";', ["@parley/agent"], "table of imports"],
    [
      "a way past a package's entry",
      'import { a } from "@parley/protocol/src/ids.ts";',
      ["@parley/protocol"],
      "let its src/index.ts",
    ],
    ["the testkit in src", 'import { a } from "@parley/testkit";', ["@parley/testkit"], "table of imports"],
    ["a dependency that nothing imports", "export const a = 1;", ["zod"], "no source file imports"],
  ])("%s fails", (_, text, dependencies, words) => {
    expect(findings(text, dependencies).join("\n")).toContain(words);
  });

  test("a test may import vitest from the root and what devDependencies declare", () => {
    expect(findings('import { test } from "vitest";', [], "packages/store/test/a.test.ts")).toEqual([]);
  });

  test("types only means types only, except in tests", () => {
    const queue = (text: string, file: string): Findings =>
      wallFindings(
        treeOf({
          "packages/queue/package.json": manifest("queue", ["@parley/store"]),
          "packages/queue/src/b.ts": 'import type { S } from "@parley/store";',
          [file]: text,
        }),
      );
    expect(queue('import type { S } from "@parley/store";', "packages/queue/src/a.ts")).toEqual([]);
    expect(queue('import { s } from "@parley/store";', "packages/queue/src/a.ts").join()).toContain(
      "only its types",
    );
    expect(queue('import { s } from "@parley/store";', "packages/queue/test/a.ts")).toEqual([]);
  });

  test("protocol runs in a browser: zod and nothing else, not even Node", () => {
    const tree = treeOf({
      "packages/protocol/package.json": manifest("protocol", ["zod"]),
      "packages/protocol/src/a.ts": 'import "zod"; import "node:fs";',
    });
    expect(wallFindings(tree)).toEqual([expect.stringContaining("may use only zod")]);
  });

  test("a heavy library is found behind the entry, unless it is loaded lazily or for its types", () => {
    const channels = (driver: string): Findings =>
      heavyFindings(
        treeOf({
          "packages/channels/package.json": manifest("channels"),
          "packages/channels/src/index.ts": 'export * from "./telegram/a.ts";',
          "packages/channels/src/telegram/a.ts": driver,
        }),
      );
    expect(channels('import { Api } from "grammy";').join()).toContain(
      "packages/channels/src/telegram/a.ts loads grammy",
    );
    expect(channels('import type { Api } from "grammy"; await import("grammy");')).toEqual([]);
  });
});

describe("cycles", () => {
  test("a cycle of types between files fails", () => {
    const tree = treeOf({
      "packages/store/src/a.ts": 'import type { B } from "./b.ts";',
      "packages/store/src/b.ts": 'export * from "./a.ts";',
    });
    expect(cycleFindings(tree)).toEqual([
      expect.stringContaining(
        "import cycle: packages/store/src/a.ts -> packages/store/src/b.ts -> packages/store/src/a.ts;",
      ),
    ]);
  });

  test("a cycle between packages fails; two ways to the same file are none", () => {
    const two = (back: string): Tree =>
      treeOf({
        "packages/store/package.json": manifest("store"),
        "packages/queue/package.json": manifest("queue"),
        "packages/queue/src/a.ts":
          'import type { S } from "@parley/store"; import "./b.ts"; import "./c.ts";',
        "packages/queue/src/b.ts": 'import "./c.ts";',
        "packages/queue/src/c.ts": "",
        "packages/store/src/a.ts": back,
      });
    expect(cycleFindings(two('import "@parley/queue";')).join()).toContain(
      "packages/store -> packages/queue -> packages/store",
    );
    expect(cycleFindings(two(""))).toEqual([]);
  });
});

describe("contracts", () => {
  const driver =
    "export async function smokeChannel(options: Options): Promise<SmokeChannel> { return start(options); }";
  const channels = (calls: string): Tree =>
    treeOf({
      "packages/channels/src/smoke/smoke.ts": driver,
      "packages/channels/test/contract.ts": "export function channelContract(options: Options): void {}",
      "packages/channels/test/smoke.test.ts": calls,
    });

  test("a driver without its contract call fails", () => {
    expect(contractFindings(channels("// channelContract(smokeChannel)")).join()).toContain(
      "no test calls channelContract on smokeChannel",
    );
    expect(contractFindings(channels("channelContract({ open: () => smokeChannel({}) });"))).toEqual([]);
  });

  test("a call may reach its driver through a file of its own", () => {
    const opened = treeOf({
      "packages/channels/src/smoke.ts": driver,
      "packages/channels/test/contract.ts": "export function channelContract(options: Options): void {}",
      "packages/channels/test/smoke.test.ts": 'import { open } from "./open.ts"; channelContract({ open });',
      "packages/channels/test/open.ts":
        'import { smokeChannel } from "@parley/channels"; export const open = () => smokeChannel({});',
    });
    expect(contractFindings(opened)).toEqual([]);
  });

  test.each([
    ['skip: [{ case: "threads", reason: "it has none" }]', true],
    ['skip: [{ case: "threads", reason: "" }]', false],
    ['skip: [{ case: "threads" }]', false],
    ['skip: ["threads"]', false],
    ['skip: { threads: "it has none" }', true],
    ["skip: { threads: true }", false],
    ["skip: true", false],
  ])("%s: has its reasons %s", (skip, fine) => {
    const found = contractFindings(channels(`channelContract({ open: () => smokeChannel({}), ${skip} });`));
    expect(found.length === 0, found.join()).toBe(fine);
  });

  test("the gateway names a driver only in its wiring", () => {
    const named = 'import { smokeChannel, type Channel } from "@parley/channels";';
    const gateway = (file: string): Findings =>
      wiringFindings(treeOf({ "packages/channels/src/smoke.ts": driver, [file]: named }));
    expect(gateway("apps/gateway/src/deliver.ts")).toHaveLength(1);
    expect(gateway("apps/gateway/src/wiring.ts")).toEqual([]);
  });

  test("a suite that is not written yet is reported", () => {
    expect(contractsMissing(oneFile("packages/channels/src/smoke.ts", driver))).toHaveLength(1);
  });
});

describe("lists", () => {
  const prompt = (order: string): Findings =>
    listFindings(
      treeOf({
        "packages/agent/src/prompt/sections/mood.ts": "export const mood: Section = {};",
        "packages/agent/src/prompt/order.ts": order,
      }),
    );

  test("a section is listed exactly once", () => {
    const from = 'import { mood } from "./sections/mood.ts";';
    expect(prompt(`${from} export const order = [mood];`)).toEqual([]);
    expect(prompt("export const order = [];").join()).toContain("mood.ts is not in");
    expect(prompt(`${from} export const order = [];`).join()).toContain("0 times");
    expect(prompt(`${from} export const order = [mood, mood];`).join()).toContain("2 times");
  });
});

describe("ports", () => {
  test.each([
    "Date.now();",
    "new Date();",
    "performance.now();",
    "setTimeout(run, 5);",
    "globalThis.setInterval(run, 5);",
    "AbortSignal.timeout(5);",
    "Math.random();",
    "crypto.randomUUID();",
    'process.env["HOME"];',
    "const { HOME } = process.env;",
    'import { randomUUID } from "node:crypto";',
    'import { setTimeout as wait } from "node:timers/promises";',
    'import { env } from "node:process";',
  ])("%s outside its place fails", (text) => {
    expect(portFindings(store(text))).toHaveLength(1);
  });

  test.each([
    ["packages/protocol/src/clock.ts", "Date.now(); setTimeout(run, 5);"],
    ["packages/protocol/src/ids.ts", "Math.random();"],
    ["packages/config/src/load.ts", "process.env;"],
    ["apps/gateway/src/main.ts", "process.env;"],
    ["packages/store/test/a.test.ts", "Date.now();"],
    ["packages/store/src/a.ts", 'new Date(now); clock.setTimeout(1); "Date.now()"; // Math.random()'],
  ])("%s may do %s", (file, text) => {
    expect(portFindings(oneFile(file, text))).toEqual([]);
  });
});

describe("names", () => {
  test.each([
    ["packages/store/src/string-utils.ts", "// x", "utils"],
    ["packages/store/src/common/rows.ts", "// x", "common"],
    ["packages/store/src/rowReader.ts", "// x", "kebab-case"],
    ["packages/store/src/a.ts", "// x\nexport class LeaseManager {}", "manager"],
    ["packages/store/src/a.ts", "// x\nexport interface IStore {}", "no I"],
    ["packages/store/src/a.ts", "// x\nexport default 1;", "default export"],
    ["packages/store/src/a.ts", "export const a = 1;", "what it owns"],
    ["packages/store/src/a.ts", "// x\nexport const a = 1; // TODO later", "TODO"],
  ])("%s with %j fails", (file, text, words) => {
    expect(nameFindings(oneFile(file, text)).join()).toContain(words);
  });

  test("base64, Inbound and a TODO that is a text for people pass", () => {
    expect(
      nameFindings(
        oneFile(
          "packages/store/src/base64.ts",
          '// x\nexport interface Inbound {}\nexport const base64 = "TODO";',
        ),
      ),
    ).toEqual([]);
  });
});

describe("suites", () => {
  test.each([
    "test.only('a', run);",
    "describe.skip('a', run);",
    "it.todo('a');",
    "test.skip.each([1])('a', run);",
    "vi.mock('./a.ts');",
    "context.skip();",
  ])("%s fails", (text) =>
    expect(suiteFindings(oneFile("packages/store/test/a.test.ts", text))).toHaveLength(1),
  );

  test("a skip with a condition or a reason passes, and a contract passes skips on", () => {
    expect(suiteFindings(oneFile("packages/store/test/contract.ts", "test.skip(why, run);"))).toEqual([]);
    expect(suiteFindings(oneFile("packages/store/test/contract.ts", "test.only(why, run);"))).toHaveLength(1);
    expect(
      suiteFindings(
        oneFile(
          "packages/store/test/a.test.ts",
          "describe.skipIf(lacks('x'))('a', run); context.skip('no x here');",
        ),
      ),
    ).toEqual([]);
  });
});

describe("comments", () => {
  const file = "packages/store/src/a.ts";
  const open = "// Keeps rows.\n";
  const comment = (columns: number): string => `// ${"a".repeat(columns - 3)}`;

  test.each([
    ["a line that is too wide", `${open}${comment(111)}\n`, "a.ts:2 has a comment line of 111 columns"],
    ["one in the middle of a block", `${open}/**\n * a\n ${comment(111)}\n */`, "line of 112 columns"],
    ["one behind code", `${open}const text = "${"a".repeat(90)}"; // Says nothing.\n`, "columns"],
    ["an opening question word", "// Whose row it is.\n", 'opens with "Whose"'],
    ["one in a block", "/**\n * How rows end.\n */", 'opens with "How"'],
  ])("%s fails", (_name, text, words) => {
    expect(commentFindings(oneFile(file, text)).join()).toContain(words);
  });

  test.each([
    ["a line of just the width, and a wide line of code", `${open}${comment(110)}\nf("${"a".repeat(200)}");`],
    ["a question word further on", "// Says how rows end.\n// What ended stays.\n"],
    ["a word that begins like one", "// However it ends, a row stays.\n"],
  ])("%s passes", (_name, text) => {
    expect(commentFindings(oneFile(file, text))).toEqual([]);
  });

  test("a test's lines are as narrow, and it may open with any word", () => {
    const inTest = (text: string) => commentFindings(oneFile("packages/store/test/a.test.ts", text));
    expect(inTest(`${comment(110)}\n`)).toEqual([]);
    expect(inTest("// What ends a row.\n")).toEqual([]);
    expect(inTest(`${comment(111)}\n`).join()).toContain("a.test.ts:1 has a comment line of 111 columns");
  });
});

test("the size report names the longest file and the widest interface", () => {
  const report = sizeReport(store("// x\nexport interface Wide { a: 1; b: 2; c(): void }\n"));
  expect(report).toContain("2  packages/store/src/a.ts");
  expect(report).toContain("3  Wide  packages/store/src/a.ts");
});

describe("the core path", () => {
  const names = "abcdefghij".split("");
  const fileOf = (name: string): string => `packages/store/src/${name}.ts`;
  const architecture = `## The core path\n\n${names.map((name) => `| \`${fileOf(name)}\` | x | y |`).join("\n")}\n\n## More\n`;
  const whole = Object.fromEntries(
    names.map((name, at) => [
      fileOf(name),
      `// Does a thing. Next: ${fileOf(names[at + 1] ?? "nothing")}.\nexport const ${name} = 1;\n`,
    ]),
  );
  const findings = (texts: Readonly<Record<string, string>>, page = architecture): Findings =>
    corePathFindings(
      treeOf({ "packages/store/package.json": manifest("store"), ...texts }),
      page,
      (file) => texts[file] ?? "",
    );

  test("passes whole", () => expect(findings(whole)).toEqual([]));

  test("misses a file, a row of the table, the word of what is next", () => {
    const { [fileOf("c")]: _gone, ...rest } = whole;
    expect(findings(rest).join()).toContain("c.ts of the core path does not exist");
    expect(findings(whole, architecture.replace(/^.*j\.ts.*$/m, "")).join()).toContain("names 9 files");
    expect(findings({ ...whole, [fileOf("d")]: "// Says nothing.\n" }).join()).toContain(
      'must say "Next: packages/store/src/e.ts"',
    );
  });

  test("refuses a long file, and one that leads back", () => {
    expect(
      findings({ ...whole, [fileOf("a")]: `${whole[fileOf("a")]}${"//\n".repeat(299)}` }).join(),
    ).toContain("has 301 lines");
    expect(
      findings({ ...whole, [fileOf("f")]: `import { b } from "./b.ts";\n${whole[fileOf("f")]}` }).join(),
    ).toContain("f.ts imports packages/store/src/b.ts, which comes before it");
  });
});

test("a document names files where they are, from the root or shortened, and no others", () => {
  const files = ["packages/store/src/a.ts"];
  expect(
    docFindings({ "a.md": "see `packages/store/src/a.ts`, `src/a.ts` and `parley.json5`" }, files),
  ).toEqual([]);
  expect(docFindings({ "a.md": "see `store/a.ts`" }, files)).toEqual([
    expect.stringContaining("a.md names store/a.ts, which is no file of this repository"),
  ]);
});
