// What a folder is taken for, what its config says with all that it includes, and which agents it has, the usual one
// first, each with the folder in which its files are.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { readSource } from "../../src/import/source.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "parley-source-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});

function write(files: { readonly [path: string]: unknown }): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), typeof text === "string" ? text : JSON.stringify(text));
  }
}
const refusal = (path = folder): string => {
  try {
    readSource(path);
    return "none";
  } catch (error) {
    return (error as Error).message.replaceAll(folder, "F");
  }
};

test("a folder of an agent's files is no home; what is neither, is a file, or is not there, is told so", () => {
  expect(refusal()).toMatch(/^F holds neither openclaw\.json nor AGENTS\.md or SOUL\.md/);
  expect(refusal(join(folder, "none"))).toMatch(/^there is no folder F\/none: name the one to import/);
  write({ "SOUL.md": "kind" });
  expect(refusal(join(folder, "SOUL.md"))).toBe(
    "F/SOUL.md is a file: name the folder that holds openclaw.json, or AGENTS.md",
  );
  expect(readSource(folder)).toMatchObject({
    isHome: false,
    configPath: null,
    config: {},
    env: {},
    agents: [{ id: "main", workspace: folder }],
  });
  write({ "openclaw.json": "[]" });
  expect(refusal()).toContain("F/openclaw.json");
  expect(refusal()).toContain("holds no block");
  write({ "openclaw.json": "{}", ".env": "A=1\nB='two'\n" });
  expect(readSource(folder)).toMatchObject({
    isHome: true,
    configPath: join(folder, "openclaw.json"),
    env: { A: "1", B: "two" },
    agents: [{ id: "main", workspace: join(folder, "workspace") }],
  });
  // A home that was renamed may keep the file of its older name.
  write({ "moltbot.json": "{}", "clawdbot.json": "{}", "openclaw.json5": "{}" });
  expect(readSource(folder).configPath).toBe(join(folder, "openclaw.json"));
  rmSync(join(folder, "openclaw.json"));
  expect(readSource(folder).configPath).toBe(join(folder, "openclaw.json5"));
});

test("included files lie under what stands beside them, the later over the earlier, block by block", () => {
  write({
    "openclaw.json": {
      $include: ["./one.json", join(folder, "deep/two.json")],
      own: 1,
      both: { of: "own", list: [3] },
    },
    "one.json": { own: 0, one: 1, both: { of: "one", one: 1, list: [1, 2], none: null } },
    "deep/two.json": { $include: "three.json", two: 2, one: { is: "a block" }, both: { of: "two", two: 2 } },
    "deep/three.json": { two: 0, three: [{ $include: "four.json" }] },
    "deep/four.json": { four: 4 },
  });
  expect(readSource(folder).config).toEqual({
    own: 1,
    one: { is: "a block" },
    two: 2,
    three: [{ four: 4 }],
    both: { of: "own", list: [3], one: 1, two: 2, none: null },
  });
  write({ "openclaw.json": { at: { $include: "gone.json" } } });
  expect(refusal()).toContain("names F/gone.json, which does not exist. Mend the name, or remove it");
  // Ten files below the config, each in the one before, and one more.
  const chain = (files: number): void => {
    write({ "openclaw.json": { $include: "1.json" } });
    for (let n = 1; n <= files; n += 1)
      write({ [`${n}.json`]: n < files ? { $include: `${n + 1}.json` } : { n } });
  };
  chain(10);
  expect(readSource(folder).config).toEqual({ n: 10 });
  chain(11);
  expect(refusal()).toContain("goes deeper than 10 files");
});

test("the usual agent comes first, whatever letters its id has, and each has its own folder", () => {
  const agents = (config: object): unknown => {
    write({ "openclaw.json": { agents: config } });
    return readSource(folder).agents.map(({ id, workspace }) => [id, workspace.replace(folder, "F")]);
  };
  const list = [
    { id: "One" },
    { id: "Two", default: true },
    { id: "three", workspace: "/elsewhere" },
    { name: "x" },
  ];
  expect(agents({ list })).toEqual([
    ["two", "F/workspace"],
    ["one", "F/workspace-One"],
    ["three", "/elsewhere"],
  ]);
  expect(agents({ list: list.slice(2), defaults: { workspace: "/usual" } })).toEqual([
    ["three", "/elsewhere"],
  ]);
  expect(agents({ entries: { a: { default: false }, b: {} }, defaults: { workspace: "/usual" } })).toEqual([
    ["a", "/usual"],
    ["b", "F/workspace-b"],
  ]);
  expect(agents({ list: [], defaults: { workspace: "/usual" } })).toEqual([["main", "/usual"]]);
  // A home that was copied names its folders where they were; what is not in it is meant as it is written.
  write({ "work/SOUL.md": "kind" });
  expect(agents({ defaults: { workspace: "/home/eve/.openclaw/work" } })).toEqual([["main", "F/work"]]);
  expect(agents({ defaults: { workspace: "~/.moltbot/work" } })).toEqual([["main", "F/work"]]);
  expect(agents({ defaults: { workspace: "/home/eve/.openclaw/gone" } })).toEqual([
    ["main", "/home/eve/.openclaw/gone"],
  ]);
  expect(agents({ defaults: { workspace: "/home/eve/.openclaw/../work" } })).toEqual([
    ["main", expect.not.stringContaining("F/") as string],
  ]);
});
