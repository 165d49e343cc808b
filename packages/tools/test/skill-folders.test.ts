// Folders outside the workspace that may be read: under their own paths, and under the user's home as the
// prompt writes it.
import { link, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isFault } from "@parley/protocol";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readBytes } from "../src/files/rooted.ts";
import { workspaceFiles, type WorkspaceFiles } from "../src/files/workspace-files.ts";

let home: string;
let files: WorkspaceFiles;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "parley-home-"));
  for (const path of [".parley/skills/one", ".parley/workspace/~/x", "other"])
    await mkdir(join(home, path), { recursive: true });
  await writeFile(join(home, ".parley/skills/one/SKILL.md"), "one");
  await writeFile(join(home, ".parley/gateway-token"), "secret");
  await writeFile(join(home, ".parley/workspace/~/x/note.md"), "note");
  await writeFile(join(home, "other/secret.txt"), "secret");
  await symlink(join(home, "other/secret.txt"), join(home, ".parley/skills/one/link.md"));
  const state = join(home, ".parley");
  files = workspaceFiles({
    root: join(state, "workspace"),
    readRoots: [join(state, "skills")],
    userHome: home,
    forbidden: [state],
  });
});
afterEach(() => rm(home, { recursive: true, force: true }));

async function read(path: string): Promise<string> {
  try {
    return await files
      .readable(path)
      .withFile(path, async ({ handle, size }) => (await readBytes(handle, 0, size)).toString());
  } catch (error) {
    if (isFault(error)) return error.code;
    throw error;
  }
}

test("a skill is read by its path and by its path under ~", async () => {
  expect(await read(join(home, ".parley/skills/one/SKILL.md"))).toBe("one");
  expect(await read("~/.parley/skills/one/SKILL.md")).toBe("one");
});

test("nothing else is, whatever the path says", async () => {
  for (const path of [
    "~/.parley/skills/../gateway-token",
    "~/.parley/skills/one/../../gateway-token",
    "~/.parley/skills/one/link.md",
    "~/.parley/gateway-token",
    "~/other/secret.txt",
    "~/.parley/skillsx/one",
    join(home, ".parley/gateway-token"),
    join(home, ".parley/skills/../gateway-token"),
  ])
    expect(["denied", "missing", "invalid"]).toContain(await read(path));
});

test("where the home is the root, or another one, no path under ~ is a skill's", async () => {
  const state = join(home, ".parley");
  for (const userHome of ["/", `${home}x`, join(home, ".par")]) {
    const at = `~${join(state, "skills/one/SKILL.md").slice(userHome === "/" ? 0 : userHome.length)}`;
    files = workspaceFiles({ root: join(state, "workspace"), readRoots: [join(state, "skills")], userHome });
    expect([await read(at), await read(join(state, "skills/one/SKILL.md"))]).toEqual(["missing", "one"]);
  }
});

test("a folder of the workspace that is named ~ is still the workspace's", async () => {
  expect(await read("~/x/note.md")).toBe("note");
});

describe("a sandbox with a folder of its own", () => {
  let work: WorkspaceFiles;
  const put = async (path: string, text: string): Promise<void> => {
    await mkdir(join(home, path, ".."), { recursive: true });
    await writeFile(join(home, path), text);
  };
  const readHere = async (path: string): Promise<string> => {
    try {
      return await work
        .readable(path)
        .withFile(path, async ({ handle, size }) => (await readBytes(handle, 0, size)).toString());
    } catch (error) {
      if (isFault(error)) return error.code;
      throw error;
    }
  };
  beforeEach(async () => {
    const workspace = join(home, ".parley/workspace");
    await put(".parley/workspace/SOUL.md", "soul");
    await put(".parley/workspace/skills/one/SKILL.md", "skill one");
    await put(".parley/workspace/.agents/skills/two/SKILL.md", "skill two");
    await put(".parley/workspace/.agents/notes.md", "notes");
    await put(".parley/sandboxes/a/mine.md", "mine");
    await put(".parley/sandboxes/a/skills/one/SKILL.md", "planted");
    await put(".parley/sandboxes/a/skills/own.md", "own");
    await symlink("../../SOUL.md", join(workspace, "skills/one/soul.md"));
    await symlink(join(workspace, "SOUL.md"), join(workspace, "skills/one/soul-by-path.md"));
    await symlink("one/SKILL.md", join(workspace, "skills/first.md"));
    await link(join(home, "other/secret.txt"), join(workspace, "skills/one/linked.txt"));
    work = workspaceFiles({
      root: join(home, ".parley/sandboxes/a"),
      inside: "/workspace",
      lent: { root: workspace, folders: ["skills", ".agents/skills"] },
      forbidden: [join(home, ".parley")],
    });
  });

  test("reads the skills of the workspace where the prompt says they are, and what was written in it nowhere in their place", async () => {
    for (const at of ["", "/workspace/", join(home, ".parley/sandboxes/a/")]) {
      expect(await readHere(`${at}skills/one/SKILL.md`)).toBe("skill one");
      expect(await readHere(`${at}.agents/skills/two/SKILL.md`)).toBe("skill two");
      expect(await readHere(`${at}skills/first.md`)).toBe("skill one");
      expect(await readHere(`${at}mine.md`)).toBe("mine");
      expect(await readHere(`${at}skills/own.md`)).toBe("own");
    }
  });

  test("reads nothing else of the workspace, by whatever path or link", async () => {
    for (const path of [
      "SOUL.md",
      "skills/../SOUL.md",
      "./skills/one/../../SOUL.md",
      "skills/one/soul.md",
      "skills/one/soul-by-path.md",
      "skills/one/linked.txt",
      ".agents/notes.md",
      ".agents/skills/../notes.md",
      "skills",
      "/workspace/skills/../SOUL.md",
      join(home, ".parley/workspace/SOUL.md"),
    ])
      expect(["denied", "missing", "invalid"]).toContain(await readHere(path));
  });
});

test("managed skills are read also where the state folder lies in the workspace, and nothing else of it", async () => {
  const state = join(home, ".parley");
  files = workspaceFiles({ root: home, readRoots: [join(state, "skills")], forbidden: [state] });
  expect(await read(join(state, "skills/one/SKILL.md"))).toBe("one");
  expect(await read(join(state, "gateway-token"))).toBe("denied");
  expect(await read(join(state, "skills/../gateway-token"))).toBe("denied");
});
