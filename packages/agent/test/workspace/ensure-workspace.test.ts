import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isFault } from "@parley/protocol";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ensureWorkspace } from "../../src/index.ts";
import { templates } from "../prompt/fixtures.ts";

let root = "";
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "parley-ensure-"));
});
afterEach(async () => {
  await chmod(root, 0o700);
  await rm(root, { recursive: true, force: true });
});

test("the first start writes the default workspace", async () => {
  const dir = join(root, "deep", "workspace");
  const { created, files } = await ensureWorkspace(dir, templates);
  expect(created).toBe(true);
  expect(files).toEqual([
    "AGENTS.md",
    "SOUL.md",
    "TOOLS.md",
    "IDENTITY.md",
    "USER.md",
    "HEARTBEAT.md",
    "BOOTSTRAP.md",
  ]);
  expect((await readdir(dir)).toSorted()).toEqual([...files].toSorted());
  expect(await readFile(join(dir, "SOUL.md"), "utf8")).toContain("You are a guest");
});

test("a later start changes nothing and brings back nothing", async () => {
  const dir = join(root, "workspace");
  await ensureWorkspace(dir, templates);
  await rm(join(dir, "BOOTSTRAP.md"));
  await writeFile(join(dir, "SOUL.md"), "Mine.");
  expect(await ensureWorkspace(dir, templates)).toEqual({ created: false, files: [] });
  expect(await readFile(join(dir, "SOUL.md"), "utf8")).toBe("Mine.");
  expect(await readdir(dir)).not.toContain("BOOTSTRAP.md");
});

test("a folder with other files gets the defaults beside them", async () => {
  await mkdir(join(root, "notes"));
  expect((await ensureWorkspace(root, templates)).created).toBe(true);
  expect(await readdir(root)).toContain("notes");
});

test.each(["memory", ".git"])(
  "a folder with %s is no new workspace, and is not told to be one",
  async (name) => {
    await mkdir(join(root, name));
    const { files } = await ensureWorkspace(root, templates);
    expect(files).toContain("SOUL.md");
    expect(files).not.toContain("BOOTSTRAP.md");
  },
);

test("a workspace that cannot be made names its path", async () => {
  await writeFile(join(root, "file"), "");
  const failure = await ensureWorkspace(join(root, "file", "workspace"), templates).catch(
    (error: unknown) => error,
  );
  expect(isFault(failure, "unavailable")).toBe(true);
  const dir = join(root, "file", "workspace");
  expect((failure as Error).message).toMatch(/ENOTDIR: .*\. Check its owner and free space\.$/);
  expect((failure as Error).message.startsWith(`the workspace ${dir} cannot be prepared: Error: `)).toBe(
    true,
  );
  expect((failure as Error).cause).toMatchObject({ code: "ENOTDIR" });
});

test("nodes that start at once on one shared folder all find a whole workspace", async () => {
  const dir = join(root, "shared");
  await Promise.all(Array.from({ length: 4 }, () => ensureWorkspace(dir, templates)));
  expect(await readFile(join(dir, "SOUL.md"), "utf8")).toContain("You are a guest");
  expect(await readdir(dir)).toHaveLength(7);
});

test("a workspace and its files are their owner's alone, and only what the defaults have is written", async () => {
  const offered = join(root, "offered");
  await mkdir(offered);
  for (const name of ["USER.md", "AGENTS.md", "OTHER.md", "MEMORY.md"])
    await writeFile(join(offered, name), name);
  const dir = join(root, "workspace");
  expect(await ensureWorkspace(dir, offered)).toEqual({
    created: true,
    files: ["AGENTS.md", "USER.md", "MEMORY.md"],
  });
  const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;
  expect([await modeOf(dir), await modeOf(join(dir, "USER.md"))]).toEqual([0o700, 0o600]);
  expect(await readFile(join(dir, "USER.md"), "utf8")).toBe("USER.md");
});

test("defaults that cannot be written are told with the reason, and with those that are written", async () => {
  const offered = join(root, "offered");
  await mkdir(join(offered, "SOUL.md"), { recursive: true });
  for (const name of ["AGENTS.md", "TOOLS.md"]) await writeFile(join(offered, name), name);
  const dir = join(root, "workspace");
  expect(await ensureWorkspace(dir, offered)).toEqual({
    created: false,
    files: ["AGENTS.md"],
    refused: expect.stringContaining("EISDIR"),
  });
  expect(await readdir(dir)).toEqual(["AGENTS.md"]);
});

test("each of the workspace's files says that it is one", async () => {
  for (const name of ["AGENTS.md", "HEARTBEAT.md", "MEMORY.md", "BOOTSTRAP.md"]) {
    const dir = join(root, name.toLowerCase());
    await mkdir(dir);
    await writeFile(join(dir, name), "");
    expect([name, await ensureWorkspace(dir, templates), await readdir(dir)]).toEqual([
      name,
      { created: false, files: [] },
      [name],
    ]);
  }
});
