// Which folders are hooks: whose come first, which module is theirs, and where the bounds of each are.
import { mkdirSync, writeFileSync } from "node:fs";
import { link, mkdir, rm, symlink, truncate } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { hookFolderHash, hookShelf, type HookSource } from "../../src/hooks/hook-shelf.ts";
import { home, put } from "../skills/home.ts";

let root: string;
beforeEach(async () => {
  root = await home();
});

const at = (...parts: readonly string[]): string => join(root, ...parts);

async function hook(source: HookSource, folder: string, name = folder, module = "handler.ts"): Promise<void> {
  const front = `---\nname: ${name}\ndescription: d\nmetadata: {openclaw: {events: [command]}}\n---\n`;
  await put(at(source, folder, "HOOK.md"), front);
  if (module !== "") await put(at(source, folder, module), "export default () => {};\n");
}

async function shelf(sources: readonly HookSource[] = ["managed", "extra", "bundled", "workspace"]) {
  const { hooks, shadowed, refused } = await hookShelf(
    sources.map((source) => ({
      source,
      path: at(source),
      ...(source === "workspace" ? { agent: "main" } : {}),
    })),
  );
  return {
    hooks: hooks.map(({ manifest, source }) => `${manifest.name} ${source}`),
    shadowed: shadowed.map(({ hook: of, by }) => `${of.manifest.name} ${of.source} by ${by.source}`),
    refused: refused.map(({ file, reason }) => `${file.slice(root.length + 1)}: ${reason}`),
    modules: hooks.map(({ handler }) => handler?.slice(root.length + 1) ?? null),
    agents: hooks.map(({ agent }) => agent),
  };
}

test("of a name in several roots the first one counts, whatever its case, and the hooks stand by name", async () => {
  for (const source of ["managed", "extra", "bundled", "workspace"] as const) await hook(source, "one");
  await hook("extra", "two", "TWO");
  await hook("workspace", "two");
  await hook("workspace", "alone");
  await hook("extra", "zwei", "Two");
  expect(await shelf()).toMatchObject({
    hooks: ["alone workspace", "one managed", "TWO extra"],
    shadowed: [
      "one extra by managed",
      "Two extra by extra",
      "one bundled by managed",
      "one workspace by managed",
      "two workspace by extra",
    ],
    refused: [],
    agents: ["main", undefined, undefined],
  });
});

test("a root that cannot be read is told with the reason; the others are looked through", async () => {
  await hook("extra", "one");
  await symlink("managed", at("managed"));
  expect(await shelf()).toMatchObject({
    hooks: ["one extra"],
    refused: ["managed: the folder cannot be read: ELOOP"],
  });
});

test("a root that is named twice hides nothing, and one that is none is none", async () => {
  await hook("managed", "one");
  await put(at("extra"), "a file");
  expect(await shelf(["managed", "managed", "extra", "bundled"])).toMatchObject({
    hooks: ["one managed"],
    shadowed: [],
    refused: [],
  });
});

test("a hook is known by its folder and its file, with what was said of them; a dot within its name hides nothing", async () => {
  await put(at("managed", "v1.2", "handler.ts"), "");
  await put(
    at("managed", "v1.2", "HOOK.md"),
    "---\ndescription: d\nopenclaw: {events: [command, dreamt]}\n---\n",
  );
  const { hooks } = await hookShelf([{ source: "managed", path: at("managed") }]);
  expect(hooks).toMatchObject([
    {
      source: "managed",
      folder: at("managed", "v1.2"),
      file: at("managed", "v1.2", "HOOK.md"),
      handler: at("managed", "v1.2", "handler.ts"),
      notes: ['the event "dreamt" is not known, and never comes'],
    },
  ]);
});

test("a HOOK.md that leads out of its root is refused, and in a workspace one that has another name", async () => {
  await hook("extra", "elsewhere");
  await put(at("managed", "linked", "handler.ts"), "");
  await symlink(at("extra", "elsewhere", "HOOK.md"), at("managed", "linked", "HOOK.md"));
  await put(at("managed", "within", "handler.ts"), "");
  await put(at("managed", "words"), "---\nname: w\nopenclaw: {events: command}\n---\n");
  await symlink("../words", at("managed", "within", "HOOK.md"));
  await put(at("workspace", "hard", "handler.ts"), "");
  await link(at("extra", "elsewhere", "HOOK.md"), at("workspace", "hard", "HOOK.md"));
  expect(await shelf(["managed", "workspace"])).toMatchObject({
    hooks: ["w managed"],
    refused: [
      "managed/linked/HOOK.md: it is a link that leads out of its root",
      "workspace/hard/HOOK.md: it has another name (a hard link), which may lie outside the workspace",
    ],
  });
});

test("a folder without a HOOK.md, a hidden one and that of the packages are passed by", async () => {
  await hook("managed", ".hidden");
  await hook("managed", "node_modules");
  await put(at("managed", "other", "handler.ts"), "");
  await put(at("managed", "HOOK.md"), "");
  expect(await shelf()).toMatchObject({ hooks: [], refused: [] });
});

test("its module is the first of those that there are; one that Parley brings has none of its own", async () => {
  await hook("managed", "a", "a", "index.mjs");
  await hook("managed", "b", "b", "index.js");
  await put(at("managed", "b", "index.ts"), "");
  await put(at("managed", "b", "handler.mjs"), "");
  await hook("managed", "c", "c", "handler.mjs");
  await put(at("managed", "c", "handler.js"), "");
  await hook("managed", "d", "d", "handler.js");
  await put(at("managed", "d", "handler.ts"), "");
  await hook("bundled", "e");
  expect((await shelf()).modules).toEqual([
    "managed/a/index.mjs",
    "managed/b/handler.mjs",
    "managed/c/handler.js",
    "managed/d/handler.ts",
    null,
  ]);
  await hook("managed", "f", "f", "");
  expect((await shelf(["managed"])).refused).toEqual([
    "managed/f/HOOK.md: it has no module: one of handler.ts, handler.js, handler.mjs, index.ts, index.js, index.mjs beside HOOK.md",
  ]);
});

test("in a workspace only a handler is a module, and nothing is reached by a link", async () => {
  await hook("workspace", "index", "index", "index.ts");
  await hook("extra", "elsewhere");
  await symlink(at("extra", "elsewhere"), at("workspace", "linked"));
  await hook("workspace", "hard");
  await rm(at("workspace", "hard", "handler.ts"));
  await link(at("extra", "elsewhere", "handler.ts"), at("workspace", "hard", "handler.ts"));
  expect((await shelf(["workspace"])).refused).toEqual([
    "workspace/hard/HOOK.md: its module handler.ts: it has another name (a hard link), which may lie outside the workspace",
    "workspace/index/HOOK.md: it has no module: one of handler.ts, handler.js, handler.mjs beside HOOK.md",
    "workspace/linked/HOOK.md: its folder is a link",
  ]);
  // The operator may do in his own folder what agents may not.
  await mkdir(at("managed"));
  await symlink(at("extra", "elsewhere"), at("managed", "linked"));
  expect((await shelf(["managed"])).hooks).toEqual(["elsewhere managed"]);
});

test("a file of more bytes than a hook has, or with none that are text, refuses the hook", async () => {
  await hook("managed", "long");
  await put(
    at("managed", "long", "HOOK.md"),
    `---\nname: x\nmetadata: {parley: {events: [command]}}\n---\n${" ".repeat(256_000)}`,
  );
  await hook("managed", "module");
  await truncate(at("managed", "module", "handler.ts"), 4_194_305);
  await hook("managed", "fits");
  await truncate(at("managed", "fits", "handler.ts"), 4_194_304);
  await put(at("managed", "zero", "HOOK.md"), "---\0---");
  await put(at("managed", "words", "HOOK.md"), "words");
  const { hooks, refused } = await shelf();
  expect(hooks).toEqual(["fits managed"]);
  expect(refused).toEqual([
    expect.stringMatching(/^managed\/long\/HOOK.md: it has 256\d{3} bytes, more than 256000$/),
    "managed/module/HOOK.md: its module handler.ts: it has 4194305 bytes, more than 4194304",
    expect.stringMatching(/^managed\/words\/HOOK.md: it has no front matter/),
    "managed/zero/HOOK.md: it is not text",
  ]);
});

test("the first two hundred folders are looked into, and that there are more is said", async () => {
  await mkdir(at("managed"));
  for (let n = 100; n < 299; n += 1) mkdirSync(at("managed", `f${n}`));
  await hook("managed", "f299");
  expect(await shelf()).toMatchObject({ hooks: ["f299 managed"], refused: [] });
  await hook("managed", "f300");
  expect(await shelf()).toMatchObject({
    hooks: ["f299 managed"],
    refused: ["managed: it has more than 200 folders; the others are not looked into"],
  });
});

test("what a hook was enabled as is the names and the bytes of all that its folder holds", async () => {
  const hash = () => hookFolderHash(at("managed", "a"));
  const seen = new Set<string | null>();
  const isNew = async (): Promise<boolean> => {
    const now = await hash();
    const fresh = now !== null && !seen.has(now);
    seen.add(now);
    return fresh;
  };
  await hook("managed", "a");
  expect(await isNew()).toBe(true);
  expect(await isNew()).toBe(false);
  await mkdir(at("managed", "a", "lib"));
  expect(await isNew()).toBe(false);
  await put(at("managed", "a", "lib", "x.ts"), "1");
  expect(await isNew()).toBe(true);
  await put(at("managed", "a", "lib", "x.ts"), "2");
  expect(await isNew()).toBe(true);
  await rm(at("managed", "a", "lib", "x.ts"));
  await put(at("managed", "a", "lib", "y.ts"), "2");
  expect(await isNew()).toBe(true);
  await put(at("managed", "a", "x.ts"), "2");
  expect(await isNew()).toBe(true);
  await symlink("x.ts", at("managed", "a", "z.ts"));
  expect(await hash()).toBeNull();
});

test("a folder of more files or bytes than a hook has cannot be enabled", async () => {
  mkdirSync(at("many"));
  for (let n = 0; n < 200; n += 1) writeFileSync(at("many", `${n}`), "");
  expect(await hookFolderHash(at("many"))).not.toBeNull();
  await put(at("many", "more"), "");
  expect(await hookFolderHash(at("many"))).toBeNull();
  await put(at("large", "one"), "");
  await truncate(at("large", "one"), 8_388_607);
  await put(at("large", "two"), "x");
  expect(await hookFolderHash(at("large"))).not.toBeNull();
  await put(at("large", "two"), "xx");
  expect(await hookFolderHash(at("large"))).toBeNull();
});
