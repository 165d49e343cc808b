import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
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
  expect(String(failure)).toContain(join(root, "file", "workspace"));
});

test("nodes that start at once on one shared folder all find a whole workspace", async () => {
  const dir = join(root, "shared");
  await Promise.all(Array.from({ length: 4 }, () => ensureWorkspace(dir, templates)));
  expect(await readFile(join(dir, "SOUL.md"), "utf8")).toContain("You are a guest");
  expect(await readdir(dir)).toHaveLength(7);
});
