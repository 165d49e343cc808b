// Kills whatever writes notes and whatever indexes them, again and again: no note is lost or doubled, and
// the index that is left is the one that would be built anew.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { memoryEngine, memoryProcess, type MemoryTarget } from "@parley/memory";
import { systemClock } from "@parley/protocol";
import { seededIds } from "@parley/testkit";
import { expect } from "vitest";

const writer = fileURLToPath(new URL("./note-writer.ts", import.meta.url));
const hybrid = {
  vectorWeight: 0,
  textWeight: 1,
  candidateMultiplier: 4,
  mmr: { enabled: false, lambda: 1 },
  temporalDecay: { enabled: false, halfLifeDays: 30 },
};

export async function killsOfMemory(rounds: number, seed: number): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), "parley-memory-kill-"));
  const { chance } = seededIds(seed);
  const clock = systemClock();
  const memory = memoryProcess({ clock, idleMs: 60_000 });
  const workspace = join(root, "workspace");
  const target: MemoryTarget = {
    workspace,
    indexPath: join(root, "main.sqlite"),
    chunking: { tokens: 50, overlap: 10 },
    embedder: null,
    talk: false,
  };
  mkdirSync(join(workspace, "memory"), { recursive: true });
  const day = join(workspace, "memory/2026-11-23.md");
  let written = 0;
  try {
    for (let round = 0; round < rounds; round += 1) {
      const name = Math.floor(chance() * 5);
      const lines = Array.from({ length: 400 }, (_, at) => `- line ${at} of round ${round % 7}, by ${name}`);
      writeFileSync(join(workspace, `memory/other-${name}.md`), lines.join("\n"));
      const child = spawn(process.execPath, [writer, workspace, String(written)], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      let said = -1;
      child.stdout.on("data", (text: Buffer) => {
        said = Math.max(said, ...text.toString().trim().split("\n").map(Number));
      });
      await once(child.stdout, "data");
      const search = memory.search(target, {
        query: "umbrella",
        scopes: "all",
        maxResults: 3,
        minScore: 0,
        hybrid,
        nowMs: clock.now(),
        sync: true,
      });
      await new Promise((resolve) => setTimeout(resolve, chance() * 60));
      for (const pid of indexers()) process.kill(pid, "SIGKILL");
      child.kill("SIGKILL");
      await once(child, "close");
      await search;
      const found = [...readFileSync(day, "utf8").matchAll(/^- umbrella number (\d+) stands in the hall$/gm)];
      expect(found.map(([, number]) => Number(number))).toEqual(found.map((_, at) => at));
      expect(found.length).toBeGreaterThan(said);
      written = found.length;
    }
    await memory.status(target);
    const fresh = { ...target, indexPath: join(root, "fresh.sqlite") };
    const engine = memoryEngine({ clock });
    await engine.reindex(fresh);
    engine.close();
    memory.close();
    expect(inIndex(target.indexPath)).toEqual(inIndex(fresh.indexPath));
  } finally {
    memory.close();
    rmSync(root, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Process ids of this process's children that keep an index. */
function indexers(): readonly number[] {
  const lines = execFileSync("ps", ["-o", "pid=,args=", "--ppid", String(process.pid)], { encoding: "utf8" });
  return lines
    .split("\n")
    .filter((line) => line.includes("memory-worker"))
    .map((line) => Number(line.trim().split(/\s+/)[0]));
}

/** All that an index says: its passages, and how often each word stands in how many of them. */
function inIndex(path: string): object {
  const db = new DatabaseSync(path);
  try {
    db.exec("CREATE VIRTUAL TABLE temp.terms USING fts5vocab('main', 'words', 'row')");
    return {
      passages: db
        .prepare(
          "SELECT f.path, f.sha256, c.scope, c.first, c.last, c.heading, c.text FROM chunks c JOIN files f ON f.id = c.file ORDER BY f.path, c.first, c.last, c.text",
        )
        .all(),
      scopes: db.prepare("SELECT scope, passages FROM scopes WHERE passages > 0 ORDER BY scope").all(),
      terms: db.prepare("SELECT term, doc, cnt FROM temp.terms ORDER BY term").all(),
    };
  } finally {
    db.close();
  }
}
