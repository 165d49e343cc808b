// A workspace with notes and an engine over it, for the suites of this package.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { systemClock } from "@parley/protocol";
import type { MemoryEngine, MemoryTarget, SearchRequest } from "../src/contract.ts";
import { memoryEngine } from "../src/engine.ts";

export interface Notes {
  readonly target: MemoryTarget;
  readonly engine: MemoryEngine;
  write(path: string, text: string | Uint8Array): void;
  /** Paths with their first lines. */
  find(query: string, more?: Partial<SearchRequest>): Promise<readonly string[]>;
  close(): void;
}

export const today = Date.parse("2026-11-23T12:00:00Z");

export const plainSearch: Omit<SearchRequest, "query"> = {
  scopes: ["curated", "daily"],
  maxResults: 6,
  minScore: 0.35,
  hybrid: {
    vectorWeight: 0,
    textWeight: 1,
    candidateMultiplier: 4,
    mmr: { enabled: true, lambda: 0.7 },
    temporalDecay: { enabled: true, halfLifeDays: 30 },
  },
  nowMs: today,
  sync: true,
};

export function notes(files: { readonly [path: string]: string } = {}): Notes {
  const root = mkdtempSync(join(tmpdir(), "parley-memory-"));
  const workspace = join(root, "workspace");
  const engine = memoryEngine({ clock: systemClock() });
  const write = (path: string, text: string | Uint8Array): void => {
    mkdirSync(dirname(join(workspace, path)), { recursive: true });
    writeFileSync(join(workspace, path), text);
  };
  mkdirSync(workspace);
  for (const [path, text] of Object.entries(files)) write(path, text);
  const target = {
    workspace,
    indexPath: join(root, "index", "main.sqlite"),
    chunking: { tokens: 400, overlap: 80 },
    embedder: null,
    talk: false,
  };
  return {
    target,
    engine,
    write,
    find: async (query, more = {}) =>
      (await engine.search(target, { ...plainSearch, ...more, query })).hits.map(
        ({ path, startLine }) => `${path}#${startLine}`,
      ),
    close: () => {
      engine.close();
      rmSync(root, { recursive: true, force: true });
    },
  };
}
