// Declares what an index of notes is asked and what it answers, for the engine, its parts, and the process
// that they run in.
import type { EmbedderSettings } from "./embed.ts";
import type { FoundLines } from "./forget-files.ts";
import type { HybridSettings } from "./rank.ts";
import type { MemoryScope } from "./scope.ts";
import type { MemorySource } from "./passages.ts";

/** The memory of one agent: its notes, and where their index lies. */
export interface MemoryTarget {
  readonly workspace: string;
  readonly indexPath: string;
  readonly chunking: { readonly tokens: number; readonly overlap: number };
  /** Null: words alone are searched. */
  readonly embedder: EmbedderSettings | null;
}

export interface SearchRequest {
  readonly query: string;
  readonly scopes: readonly MemoryScope[] | "all";
  readonly maxResults: number;
  readonly minScore: number;
  readonly hybrid: HybridSettings;
  readonly nowMs: number;
  /** False: what is indexed is searched as it is, unless nothing is. */
  readonly sync: boolean;
}

export interface MemoryHit {
  readonly path: string;
  readonly startLine: number;
  readonly endLine: number;
  readonly heading: string;
  readonly score: number;
  readonly source: MemorySource;
  readonly scope: string;
  readonly snippet: string;
}

export interface SearchAnswer {
  readonly hits: readonly MemoryHit[];
  /** How it was searched. */
  readonly mode: "keyword" | "hybrid";
  /** What the reader should know: a backlog, an index that was rebuilt, files that are left out. */
  readonly notes: readonly string[];
}

export interface GetRequest {
  readonly path: string;
  /** Counted from 1. */
  readonly from: number;
  readonly lines: number;
  readonly maxChars: number;
  readonly scopes: readonly MemoryScope[] | "all";
}

export interface GetAnswer {
  readonly path: string;
  readonly startLine: number;
  readonly endLine: number;
  readonly totalLines: number;
  readonly text: string;
}

export interface MemoryStatus {
  readonly files: number;
  readonly chunks: number;
  readonly vectors: number;
  /** Passages that have no vector yet. */
  readonly vectorsLeft: number;
  readonly filesLeft: number;
  readonly bytes: number;
  readonly problems: readonly { readonly path: string; readonly reason: string }[];
  readonly notes: readonly string[];
}

export interface ForgetRequest {
  readonly query: string;
  readonly write: boolean;
}

export interface MemoryEngine {
  search(target: MemoryTarget, request: SearchRequest): Promise<SearchAnswer>;
  get(target: MemoryTarget, request: GetRequest): Promise<GetAnswer>;
  /** Brings the index up to date first, as a search does. */
  status(target: MemoryTarget): Promise<MemoryStatus>;
  /** Throws the index away, builds it anew and waits for the end. */
  reindex(target: MemoryTarget): Promise<MemoryStatus>;
  /**
   * Finds the lines that a question means, in the notes and in kept results of tools. With `write` they are
   * taken out of the files and of the index, in which no byte of them is left.
   */
  forget(target: MemoryTarget, request: ForgetRequest): Promise<FoundLines>;
  /** True while an index is built or passages are embedded in the background. */
  isBusy(): Promise<boolean>;
  close(): void;
}
