// Folders outside the workspace that may be read: under their own paths, and under the user's home as the prompt writes it.
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isFault } from "@parley/protocol";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readBytes } from "../src/files/rooted.ts";
import { workspaceFiles, type WorkspaceFiles } from "../src/files/workspace-files.ts";

let home: string;
let files: WorkspaceFiles;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "parley-home-"));
  for (const path of [".parley/skills/one", ".parley/workspace/~/x", "other"]) await mkdir(join(home, path), { recursive: true });
  await writeFile(join(home, ".parley/skills/one/SKILL.md"), "one");
  await writeFile(join(home, ".parley/gateway-token"), "secret");
  await writeFile(join(home, ".parley/workspace/~/x/note.md"), "note");
  await writeFile(join(home, "other/secret.txt"), "secret");
  await symlink(join(home, "other/secret.txt"), join(home, ".parley/skills/one/link.md"));
  const state = join(home, ".parley");
  files = workspaceFiles({ root: join(state, "workspace"), readRoots: [join(state, "skills")], userHome: home, forbidden: [state] });
});
afterEach(() => rm(home, { recursive: true, force: true }));

async function read(path: string): Promise<string> {
  try {
    return await files.readable(path).withFile(path, async ({ handle, size }) => (await readBytes(handle, 0, size)).toString());
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

test("a folder of the workspace that is named ~ is still the workspace's", async () => {
  expect(await read("~/x/note.md")).toBe("note");
});
