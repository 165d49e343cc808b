// Completes how an agent's memory is searched: its own settings, then the defaults', then Parley's.
import type { ConfigFile } from "./schema/root.ts";
import { memorySearchDefaults } from "./schema/memory.ts";

type MemorySearchFile = ConfigFile["agents"]["list"][number]["memorySearch"];

export interface MemorySearchConfig {
  readonly enabled: boolean;
  readonly query: {
    readonly maxResults: number;
    readonly minScore: number;
    readonly hybrid: {
      readonly candidateMultiplier: number;
      readonly mmr: { readonly enabled: boolean; readonly lambda: number };
      readonly temporalDecay: { readonly enabled: boolean; readonly halfLifeDays: number };
    };
  };
  readonly chunking: { readonly tokens: number; readonly overlap: number };
  readonly sync: { readonly onSearch: boolean };
}

export function memorySearchOf(own: MemorySearchFile, ofAll: MemorySearchFile): MemorySearchConfig {
  const { enabled, query, chunking, sync } = memorySearchDefaults;
  const [mine, theirs] = [own?.query, ofAll?.query];
  const { tokens, overlap } = { ...chunking, ...ofAll?.chunking, ...own?.chunking };
  return {
    enabled: own?.enabled ?? ofAll?.enabled ?? enabled,
    query: {
      maxResults: mine?.maxResults ?? theirs?.maxResults ?? query.maxResults,
      minScore: mine?.minScore ?? theirs?.minScore ?? query.minScore,
      hybrid: {
        candidateMultiplier:
          mine?.hybrid?.candidateMultiplier ??
          theirs?.hybrid?.candidateMultiplier ??
          query.hybrid.candidateMultiplier,
        mmr: { ...query.hybrid.mmr, ...theirs?.hybrid?.mmr, ...mine?.hybrid?.mmr },
        temporalDecay: {
          ...query.hybrid.temporalDecay,
          ...theirs?.hybrid?.temporalDecay,
          ...mine?.hybrid?.temporalDecay,
        },
      },
    },
    sync: { ...sync, ...ofAll?.sync, ...own?.sync },
    chunking: { tokens, overlap: Math.min(overlap, Math.floor(tokens / 2)) },
  };
}
