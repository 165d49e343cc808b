// Files of long tool results: whose they are, what they are called, how many there may be.
import { mkdtemp, readdir, readFile, rm, utimes, writeFile, mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { workspaceFiles, type WorkspaceFiles } from "@parley/tools";
import { afterEach, beforeEach, expect, test } from "vitest";
import { isResultOf, keepResult, mostResults, resultName } from "../src/result-files.ts";

let workspace: string;
let files: WorkspaceFiles;
beforeEach(async () => {
  workspace = await mkdtemp(join(tmpdir(), "parley-results-"));
  files = workspaceFiles({ root: workspace });
});
afterEach(() => rm(workspace, { recursive: true, force: true }));

const results = (): Promise<string[]> => readdir(join(workspace, ".parley/results"));

test("two sessions whose models call their calls alike never read each other's results", async () => {
  const alices = await keepResult(files, resultName("agent:main:telegram:dm:1#1", "call_1"), "of alice");
  const bobs = await keepResult(files, resultName("agent:main:telegram:dm:2#1", "call_1"), "of bob");
  expect(await readFile(join(workspace, alices), "utf8")).toBe("of alice");
  expect(await readFile(join(workspace, bobs), "utf8")).toBe("of bob");
});

test("a call id is no path", () => {
  expect(resultName("t", "../../etc/passwd")).toMatch(/^[0-9a-f]{12}-______etc_passwd\.txt$/);
  expect(resultName("t", "")).toMatch(/^[0-9a-f]{12}-call\.txt$/);
  const kept = `.parley/results/${resultName("agent:main:main#7", "c")}`;
  expect(isResultOf("agent:main:main", kept)).toBe(true);
  expect(isResultOf("agent:main:telegram:dm:2", kept)).toBe(false);
  expect(isResultOf("agent:main:main", ".parley/results")).toBe(false);
  expect(isResultOf("agent:main:main", "memory/x.md")).toBeNull();
});

test("the oldest go when there are too many, and nothing else does", async () => {
  const folder = join(workspace, ".parley/results");
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "of-a-person.txt"), "mine");
  await Promise.all(
    Array.from({ length: mostResults }, async (_, n) => {
      const path = join(folder, resultName("old", `c${n}`));
      await writeFile(path, "");
      await utimes(path, n, n);
    }),
  );
  await keepResult(files, resultName("new", "c"), "kept");
  const left = await results();
  expect(left).toContain("of-a-person.txt");
  expect(left).toContain(resultName("new", "c"));
  expect(left).toContain(resultName("old", `c${mostResults - 1}`));
  expect(left).not.toContain(resultName("old", "c0"));
  expect(left.length).toBeLessThan(mostResults);
});
