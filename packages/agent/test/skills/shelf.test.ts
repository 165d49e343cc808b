import { link, mkdir, rename, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  defaultSkillLimits,
  skillShelves,
  type SkillRoot,
  type LoadedSkills,
} from "../../src/skills/skill-loader.ts";
import { skillFolders } from "../../src/skills/skill-folders.ts";
import { home, put, skill } from "./home.ts";

async function roots(): Promise<{
  readonly at: (source: string) => string;
  readonly all: readonly SkillRoot[];
}> {
  const folder = await home();
  const at = (source: string): string => join(folder, source);
  return {
    at,
    all: (["workspace", "managed", "bundled", "extra"] as const).map((source) => ({
      source,
      path: at(source),
    })),
  };
}

const load = (all: readonly SkillRoot[], limits = {}): Promise<LoadedSkills> =>
  skillShelves().load(all, { ...defaultSkillLimits, ...limits });
const names = (shelf: LoadedSkills): string[] =>
  shelf.skills.map(({ manifest, source }) => `${manifest.name} ${source}`);

describe("the shelf", () => {
  test("tells of a root that cannot be read, and goes on with the others", async () => {
    const { at, all } = await roots();
    await skill(at("extra"), "a");
    await symlink("managed", at("managed"));
    const shelf = await load(all);
    expect(names(shelf)).toEqual(["a extra"]);
    expect(shelf.rejected).toEqual([
      { source: "managed", file: at("managed"), reason: "the folder cannot be read: ELOOP" },
    ]);
  });

  test("leaves out what a stranger wrote with who it was, and marks what an owner's sandbox wrote", async () => {
    const { at, all } = await roots();
    for (const name of ["own", "guest", "boxed"]) await skill(at("workspace"), name);
    const shelf = await skillShelves().load(all, defaultSkillLimits, (path) =>
      path.includes("/guest/")
        ? { use: "leave out", reason: "a guest wrote it", who: "telegram:7" }
        : path.includes("/boxed/")
          ? { use: "mark", reason: "written in a sandbox", who: "telegram:1" }
          : null,
    );
    expect(shelf.rejected).toEqual([
      {
        source: "workspace",
        file: join(at("workspace"), "guest", "SKILL.md"),
        reason: "a guest wrote it (telegram:7)",
      },
    ]);
    expect(shelf.skills.map(({ manifest, mark, notes }) => [manifest.description, mark, notes])).toEqual([
      ["(written in a sandbox) boxed", "written in a sandbox", ["written in a sandbox (telegram:1)"]],
      ["own", undefined, []],
    ]);
  });

  test("forgets a file that went away, and reads it anew when it is back", async () => {
    const { at, all } = await roots();
    const file = await skill(at("managed"), "a");
    const shelves = skillShelves();
    const found = async (): Promise<readonly [readonly string[], number]> => [
      names(await shelves.load(all, defaultSkillLimits)),
      shelves.reads,
    ];
    expect([await found(), await found()]).toEqual([
      [["a managed"], 1],
      [["a managed"], 1],
    ]);
    await rename(file, `${file}.bak`);
    expect(await found()).toEqual([[], 1]);
    await rename(`${file}.bak`, file);
    expect((await found())[0]).toEqual(["a managed"]);
  });

  test("workspace comes before managed before bundled before extra, and what is hidden is shown", async () => {
    const { at, all } = await roots();
    for (const source of ["workspace", "managed", "bundled", "extra"]) await skill(at(source), "a");
    for (const source of ["managed", "bundled", "extra"]) await skill(at(source), "b");
    for (const source of ["bundled", "extra"]) await skill(at(source), "c");
    await skill(at("extra"), "d");
    const shelf = await load(all);
    expect(names(shelf)).toEqual(["a workspace", "b managed", "c bundled", "d extra"]);
    expect(
      shelf.shadowed.map(
        ({ skill: hidden, by }) => `${hidden.manifest.name} ${hidden.source} by ${by.source}`,
      ),
    ).toEqual([
      "a managed by workspace",
      "a bundled by workspace",
      "b bundled by managed",
      "a extra by workspace",
      "b extra by managed",
      "c extra by bundled",
    ]);
  });

  test("of two names that look alike the second is refused", async () => {
    const { at, all } = await roots();
    await skill(at("workspace"), "a", "name: modem\ndescription: mine");
    await skill(at("managed"), "b", "name: rnodern\ndescription: theirs");
    await skill(at("managed"), "c", "name: Mødem\ndescription: theirs");
    await skill(at("bundled"), "d", "name: módem\ndescription: theirs");
    await skill(at("bundled"), "e", "name: rnodem\ndescription: theirs");
    const shelf = await load(all);
    expect(names(shelf)).toEqual(["modem workspace"]);
    expect(shelf.shadowed).toEqual([]);
    expect(shelf.rejected.map(({ source }) => source)).toEqual(["managed", "managed", "bundled", "bundled"]);
    expect(shelf.rejected[0]?.reason).toBe(
      `its name "rnodern" looks like that of the skill "modem" in ${join(at("workspace"), "a", "SKILL.md")}`,
    );
  });

  test("two names that differ by case or by width are one", async () => {
    const { at, all } = await roots();
    await skill(at("workspace"), "x", "name: Git-Helper\ndescription: mine");
    await skill(at("bundled"), "y", "name: ｇit-helper\ndescription: theirs");
    const shelf = await load(all);
    expect(names(shelf)).toEqual(["Git-Helper workspace"]);
    expect(shelf.shadowed).toHaveLength(1);
  });

  test("looks into nested folders, not into a skill's own, nor into hidden ones, nor too deep", async () => {
    const { at, all } = await roots();
    const root = at("workspace");
    await skill(root, "group/deep/one");
    await skill(root, "one/references/inner");
    await skill(root, "one", "name: outer\ndescription: x");
    await skill(root, ".hidden/two");
    await skill(root, "node_modules/three");
    await skill(root, "1/2/3/4/5/six");
    await skill(root, "1/2/3/4/5/6/seven");
    await put(join(root, "lower", "skill.md"), "---\nname: lower\ndescription: x\n---\n");
    expect(names(await load(all))).toEqual([
      "lower workspace",
      "one workspace",
      "outer workspace",
      "six workspace",
    ]);
  });

  test("a root may be one skill, may be missing, may be a file", async () => {
    const { at, all } = await roots();
    await put(join(at("extra"), "SKILL.md"), "---\nname: alone\ndescription: x\n---\n");
    await put(at("managed"), "a file");
    const shelf = await load(all);
    expect(names(shelf)).toEqual(["alone extra"]);
    expect(shelf.rejected).toEqual([]);
  });

  test("beside a root that is a skill itself the folders below are looked into, and a folder that links to itself once", async () => {
    const root = await home();
    for (const name of ["nested", "group/one", "group/more/two"]) await skill(root, name);
    await put(join(root, "SKILL.md"), "---\nname: alone\ndescription: x\n---\n");
    await symlink(".", join(root, "group", "again"));
    await symlink("../..", join(root, "group", "more", "up"));
    await symlink("../nested", join(root, "group", "beside"));
    const { files, ...found } = await skillFolders(root, 100);
    const below = ["", "group/beside/", "group/more/two/", "group/one/", "nested/"];
    expect(files).toEqual(below.map((folder) => join(root, folder, "SKILL.md")));
    expect(found).toEqual({
      refused: [
        {
          file: join(root, "group", "more", "up"),
          reason: "it is a link that leads out of its root; name the folder in skills.load.extraDirs instead",
        },
      ],
      cut: false,
    });
  });

  test("what cannot be read is refused with its reason and hides nothing", async () => {
    const { at, all } = await roots();
    await skill(at("workspace"), "a", "name: a");
    await skill(at("managed"), "a");
    await put(
      join(at("managed"), "big", "SKILL.md"),
      `---\nname: big\ndescription: x\n---\n${"x".repeat(300_000)}`,
    );
    const shelf = await load(all);
    expect(names(shelf)).toEqual(["a managed"]);
    expect(shelf.rejected.map(({ file, reason }) => `${file.slice(at("").length)}: ${reason}`)).toEqual([
      "/workspace/a/SKILL.md: it has no description, by which it would be chosen",
      "/managed/big/SKILL.md: it has 300033 bytes, more than 256000",
    ]);
  });

  test("a link that leads out of its root is refused, one inside is followed, a circle ends", async () => {
    const { at, all } = await roots();
    const root = at("workspace");
    const outside = await home();
    await skill(outside, "evil");
    await skill(root, "real/good");
    await symlink(join(outside, "evil"), join(root, "evil"));
    await mkdir(join(root, "file"));
    await symlink(join(outside, "evil", "SKILL.md"), join(root, "file", "SKILL.md"));
    await symlink("..", join(root, "real", "up"));
    await symlink(join(root, "nowhere"), join(root, "dangling"));
    await symlink(join(root, "real"), join(root, "zzz"));
    const shelf = await load(all);
    expect(names(shelf)).toEqual(["good workspace"]);
    expect(shelf.rejected.map(({ reason }) => reason)).toEqual([
      expect.stringContaining("a link that leads out of its root"),
      expect.stringContaining("a link that leads out of its root"),
    ]);
  });

  test("a FIFO for a SKILL.md hangs nothing, a folder neither", async () => {
    const { at, all } = await roots();
    await mkdir(join(at("workspace"), "pipe"), { recursive: true });
    execFileSync("mkfifo", [join(at("workspace"), "pipe", "SKILL.md")]);
    await mkdir(join(at("workspace"), "dir", "SKILL.md"), { recursive: true });
    const shelf = await load(all);
    expect(shelf.skills).toEqual([]);
    expect(shelf.rejected.map(({ reason }) => reason)).toEqual([
      "it is not a regular file",
      "it is not a regular file",
    ]);
  });

  test("ten thousand folders cost no more than the limit, and the shelf says that it was cut", async () => {
    const { at, all } = await roots();
    for (let n = 0; n < 40; n += 1) await skill(at("managed"), `s${String(n).padStart(2, "0")}`);
    const cut = await load(all, { maxCandidatesPerRoot: 10 });
    expect(cut.skills).toHaveLength(10);
    expect(cut.cut).toEqual([at("managed")]);
    const few = await load(all, { maxSkillsLoadedPerSource: 5 });
    expect(few.skills).toHaveLength(5);
    expect(few.rejected[0]?.reason).toBe("its root has more than 5 skills");
  });

  test("reads a file again only when it changed", async () => {
    const { at, all } = await roots();
    const file = await skill(at("workspace"), "a");
    for (const name of ["b", "c", "d"]) await skill(at("workspace"), name);
    const shelves = skillShelves();
    const again = (): Promise<LoadedSkills> => shelves.load(all, defaultSkillLimits);
    await again();
    await again();
    expect(shelves.reads).toBe(4);
    await writeFile(file, "---\nname: a\ndescription: new\n---\n");
    expect((await again()).skills[0]?.manifest.description).toBe("new");
    expect(shelves.reads).toBe(5);
    // Replaced by a rename, with size and times as they were: the inode tells.
    const other = await put(join(at("workspace"), "x.tmp"), "---\nname: a\ndescription: NEW\n---\n");
    await utimes(other, 1, 1);
    await utimes(file, 1, 1);
    await again();
    await rename(other, file);
    expect((await again()).skills[0]?.manifest.description).toBe("NEW");
    await rm(file);
    expect(names(await again())).toEqual(["b workspace", "c workspace", "d workspace"]);
  });

  test("of a root with as many as are looked at is whole; its limits count folders, skills and bytes", async () => {
    const { at, all } = await roots();
    const root = at("managed");
    for (const name of ["d", "b", "e", "a", "c"]) await skill(root, name);
    await mkdir(join(root, "aa"));
    const of = async (limits: object) => {
      const { skills, rejected, cut } = await load(all, limits);
      return [
        skills.map(({ manifest }) => manifest.name).join(""),
        rejected.map(({ file }) => file.slice(root.length)),
        cut,
      ];
    };
    expect(await of({ maxCandidatesPerRoot: 6 })).toEqual(["abcde", [], []]);
    expect(await of({ maxCandidatesPerRoot: 5 })).toEqual(["abcd", [], [root]]);
    expect(await of({ maxSkillsLoadedPerSource: 5 })).toEqual(["abcde", [], []]);
    expect(await of({ maxSkillsLoadedPerSource: 3 })).toEqual(["abc", ["/d/SKILL.md", "/e/SKILL.md"], []]);
    const bytes = "---\nname: a\ndescription: a\n---\nBody of a.\n".length;
    expect(await of({ maxSkillFileBytes: bytes })).toEqual(["abcde", [], []]);
    expect((await of({ maxSkillFileBytes: bytes - 1 }))[0]).toBe("");
    expect(defaultSkillLimits).toEqual({
      maxSkillsPromptChars: 18_000,
      maxSkillsInPrompt: 150,
      maxSkillsLoadedPerSource: 200,
      maxCandidatesPerRoot: 300,
      maxSkillFileBytes: 256_000,
    });
  });

  test("a skill is told with its root, its file, its folder and what was said of it", async () => {
    const { at, all } = await roots();
    await skill(at("extra"), "group/one", "description: d\nallowed-tools: x");
    const { skills, shadowed, rejected, cut } = await load(all);
    expect(skills).toEqual([
      {
        manifest: expect.objectContaining({ name: "one", description: "d" }),
        source: "extra",
        root: at("extra"),
        file: join(at("extra"), "group", "one", "SKILL.md"),
        folder: join(at("extra"), "group", "one"),
        notes: [
          "it has no name; its folder's stands in",
          "allowed-tools is not acted on: a skill grants no tool",
        ],
      },
    ]);
    expect([shadowed, rejected, cut]).toEqual([[], [], []]);
    // Of two in one root the first counts too, and the other is shown.
    await skill(at("extra"), "other", "name: ONE\ndescription: e");
    const { skills: still, shadowed: hidden } = await load(all);
    expect([still, hidden.map(({ skill: of, by }) => [of.folder, by.folder])]).toEqual([
      skills,
      [[join(at("extra"), "other"), join(at("extra"), "group", "one")]],
    ]);
    // Of one root that is named twice nothing else is shadowed.
    const twice = await load([...all, { source: "extra", path: at("extra") }]);
    expect([names(twice), twice.shadowed.length]).toEqual([["one extra"], 2]);
  });

  test("a second name of a file is refused in a workspace alone, as it may lie outside", async () => {
    const { at, all } = await roots();
    for (const source of ["workspace", "managed"]) {
      const file = await skill(at(source), `of-${source}`);
      await link(file, join(at(source), "other"));
    }
    const shelf = await load(all);
    expect(names(shelf)).toEqual(["of-managed managed"]);
    expect(shelf.rejected).toEqual([
      {
        source: "workspace",
        file: join(at("workspace"), "of-workspace", "SKILL.md"),
        reason: "it has another name (a hard link), which may lie outside the workspace",
      },
    ]);
  });

  test("a link that leads to a folder beside its root leads out, also where its name begins alike; a small name is one", async () => {
    const { at, all } = await roots();
    await skill(`${at("managed")}-2`, "beside", "name: beside\ndescription: x");
    await put(join(`${at("managed")}-2`, "small", "skill.md"), "---\nname: small\ndescription: x\n---\n");
    await mkdir(join(`${at("managed")}-2`, "empty"));
    await mkdir(at("managed"));
    for (const name of ["beside", "small", "empty"])
      await symlink(`../managed-2/${name}`, join(at("managed"), name));
    await skill(at("managed"), "both", "name: both\ndescription: upper");
    await put(join(at("managed"), "both", "skill.md"), "---\nname: both\ndescription: lower\n---\n");
    for (const name of ["__MACOSX", "__pycache__"]) await skill(at("managed"), name);
    const shelf = await load(all);
    expect(shelf.skills.map(({ manifest }) => manifest.description)).toEqual(["upper"]);
    expect(shelf.rejected).toEqual(
      ["beside", "small"].map((name) => ({
        source: "managed",
        file: join(at("managed"), name),
        reason: "it is a link that leads out of its root; name the folder in skills.load.extraDirs instead",
      })),
    );
  });

  test("a file that is a link is read again only when what it leads to changed", async () => {
    const { at, all } = await roots();
    await put(join(at("managed"), "words.md"), "---\nname: a\ndescription: one\n---\n");
    await mkdir(join(at("managed"), "a"));
    await symlink("../words.md", join(at("managed"), "a", "SKILL.md"));
    const shelves = skillShelves();
    const told = async (): Promise<readonly unknown[]> => {
      const { skills } = await shelves.load(all, defaultSkillLimits);
      return [skills[0]?.manifest.description, shelves.reads];
    };
    expect([await told(), await told()]).toEqual([
      ["one", 1],
      ["one", 1],
    ]);
    await put(join(at("managed"), "words.md"), "---\nname: a\ndescription: two\n---\n");
    expect(await told()).toEqual(["two", 2]);
    // What is refused in between is not remembered as it was.
    await rm(join(at("managed"), "words.md"));
    expect(await told()).toEqual([undefined, 2]);
    await put(join(at("managed"), "words.md"), "---\nname: a\ndescription: three\n---\n");
    expect(await told()).toEqual(["three", 3]);
  });
});
