// The process that keeps the indexes: none until something is asked, another one after a death, none when
// idle.
import { execFileSync } from "node:child_process";
import { afterEach, expect, test } from "vitest";
import { systemClock } from "@parley/protocol";
import { memoryProcess } from "../src/memory-process.ts";
import { notes, plainSearch, type Notes } from "./notes.ts";

let n: Notes;
const memory = memoryProcess({ clock: systemClock(), idleMs: 50 });
afterEach(() => n.close());

/** Process ids of this process's children that keep memory. */
function workers(): readonly number[] {
  const lines = execFileSync("ps", ["-o", "pid=,args=", "--ppid", String(process.pid)], { encoding: "utf8" });
  return lines
    .split("\n")
    .filter((line) => line.includes("memory-worker"))
    .map((line) => Number(line.trim().split(/\s+/)[0]));
}

test("is started by the first question, survives kill -9 at any moment, and ends when nobody asks", async () => {
  n = notes(
    Object.fromEntries(
      Array.from({ length: 200 }, (_, at) => [`memory/note-${at}.md`, `# Note\n- umbrella number ${at}\n`]),
    ),
  );
  const search = (query: string) => memory.search(n.target, { ...plainSearch, query, minScore: 0 });
  expect([memory.processes(), workers()]).toEqual([0, []]);
  for (let kill = 0; kill < 3; kill += 1) {
    const answer = search("umbrella 7");
    // The worker is there at once and dies while it starts, indexes or answers.
    await new Promise((resolve) => setTimeout(resolve, kill * 150));
    for (const pid of workers()) process.kill(pid, "SIGKILL");
    expect((await answer).hits[0]?.path).toBe("memory/note-7.md");
  }
  const { files, chunks } = await memory.status(n.target);
  expect([files, chunks]).toEqual([200, 200]);
  expect(await memory.reindex(n.target)).toMatchObject({ files, chunks });
  await expect(
    memory.get(n.target, { path: "AGENTS.md", from: 1, lines: 1, maxChars: 9, scopes: "all" }),
  ).rejects.toMatchObject({ code: "denied" });
  await expect.poll(() => [memory.processes(), workers()], { timeout: 20_000 }).toEqual([0, []]);
  memory.close();
  await expect(search("umbrella")).rejects.toMatchObject({ code: "aborted" });
}, 60_000);

test("nodes that share a folder have an index each, and one finds at once what the other wrote", async () => {
  n = notes({ "MEMORY.md": "- Ann drinks tea.\n" });
  const nodes = ["a", "b/c"].map((node) => memoryProcess({ clock: systemClock(), node }));
  const find = async (node: (typeof nodes)[number], query: string): Promise<readonly string[]> =>
    (await node.search(n.target, { ...plainSearch, query })).hits.map(({ path }) => path);
  for (const node of nodes) expect(await find(node, "tea")).toEqual(["MEMORY.md"]);
  n.write("memory/2026-11-23.md", "- The umbrella is red.\n");
  for (const node of nodes) expect(await find(node, "umbrella")).toEqual(["memory/2026-11-23.md"]);
  const indexes = await Promise.all(nodes.map(async (node) => (await node.status(n.target)).index));
  expect(indexes.map((path) => path.replace(/.*\//, ""))).toEqual(["main@a.sqlite", "main@b-c.sqlite"]);
  for (const node of nodes) node.close();
}, 60_000);
