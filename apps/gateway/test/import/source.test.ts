// What a folder is taken for, what its config says with all that it includes, and which agents it has, the
// usual one first, each with the folder in which its files are.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
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

test("each name of an older config, and each folder of a home without one, makes a home; each note of an agent makes a workspace", () => {
  const taken = (name: string, make: (path: string) => void): string => {
    const path = join(folder, `of ${name}`);
    mkdirSync(path);
    make(join(path, name));
    try {
      const { isHome, configPath } = readSource(path);
      return isHome ? `home ${configPath === null ? "without config" : "with config"}` : "workspace";
    } catch (error) {
      return (error as { readonly code: string }).code;
    }
  };
  for (const name of ["openclaw.json", "openclaw.json5", "clawdbot.json", "moltbot.json"])
    expect([name, taken(name, (path) => writeFileSync(path, "{}"))]).toEqual([name, "home with config"]);
  for (const name of ["agents", "credentials", "cron", "sessions", "workspace"])
    expect([name, taken(name, (path) => mkdirSync(path))]).toEqual([name, "home without config"]);
  for (const name of ["AGENTS.md", "SOUL.md", "IDENTITY.md", "USER.md", "MEMORY.md", "TOOLS.md"])
    expect([name, taken(name, (path) => writeFileSync(path, ""))]).toEqual([name, "workspace"]);
  for (const name of ["skills", "NOTES.md", "config.json"])
    expect([name, taken(name, (path) => mkdirSync(path))]).toEqual([name, "missing"]);
  // Notes lie in the folder of an agent, whatever folders it has beside them.
  write({ "both/SOUL.md": "kind", "both/sessions/x": "" });
  expect(readSource(join(folder, "both")).isHome).toBe(false);
});

test("a config that cannot be read is told with its path and what to do", () => {
  mkdirSync(join(folder, "openclaw.json"));
  expect(refusal()).toBe(
    "F/openclaw.json cannot be read: it is no file. Run the import as the user whose files these are",
  );
});

test("of files beside the config the first mistake of each is told, and what may not be followed leads nowhere", () => {
  write({
    "home/openclaw.json": "{}",
    "home/bom.json": "\uFEFF[1]",
    "home/five.json": "{ a: 1, // words\n}",
    "home/blank.json": " \n",
    "home/broken.json": "[1,\n  2 3]",
    "home/names/b": "",
    "home/names/a": "",
    "home/names/B": "",
    "home-beside/x.json": "[2]",
  });
  const home = join(folder, "home");
  symlinkSync(join(folder, "home-beside/x.json"), join(home, "beside.json"));
  symlinkSync("loop.json", join(home, "loop.json"));
  symlinkSync("gone.json", join(home, "away.json"));
  symlinkSync("bom.json", join(home, "inside.json"));
  writeFileSync(join(home, "large.json"), "");
  truncateSync(join(home, "large.json"), 256_000_001);
  writeFileSync(join(home, "largest.json"), "");
  truncateSync(join(home, "largest.json"), 256_000_000);
  const { files } = readSource(home);
  const at = (name: string): string => join(home, name);
  const values = ["bom", "inside", "five", "blank", "none", "broken", "beside", "loop", "away", "large"].map(
    (name) => files.value(at(`${name}.json`)),
  );
  expect(values).toEqual([[1], [1], { a: 1 }, null, null, null, null, null, null, null]);
  expect([files.names(at("names")), files.names(at("none")), files.names(at("bom.json"))]).toEqual([
    ["B", "a", "b"],
    [],
    [],
  ]);
  expect(files.trouble(at("largest.json"))).toBeNull();
  expect(files.trouble(at("bom.json"), 0)).toBe("it has 0 MB, more than 0: copy it by hand, if it is wanted");
  expect(files.trouble(at("none.json"))).toBeNull();
  const out = "a link leads out of the source, which is not followed: put what it leads to in its place";
  const nowhere = "it is a link that leads nowhere";
  expect(
    files.told(home).map(({ what, name, fate, why }) => [what, name.slice(home.length + 1), fate, why]),
  ).toEqual([
    [
      "file",
      expect.stringMatching(/^broken\.json:2:\d+$/),
      "refused",
      expect.stringContaining(". Mend it there and import again"),
    ],
    ["file", "beside.json", "refused", out],
    ["file", "loop.json", "refused", nowhere],
    ["file", "away.json", "refused", nowhere],
    ["file", "large.json", "refused", "it has 256 MB, more than 256: copy it by hand, if it is wanted"],
  ]);
  expect(files.told(at("beside.json"))).toHaveLength(1);
  expect(files.told(at("names"))).toEqual([]);
  // What is told of a folder is told of what lies in it, and of nothing that begins with its name.
  expect(files.told(at("be"))).toEqual([]);
});
