// Declares what an index of notes is asked and what it answers, for the engine, its parts, and the process
// that they run in.
import type { AlikeLines } from "./changes/alike.ts";
import type { EmbedderSettings } from "./vectors/embed.ts";
import type { FoundLines } from "./changes/forget-files.ts";
import type { HybridSettings } from "./search/rank.ts";
import type { MemoryScope } from "./scope.ts";
import type { MemorySource } from "./passages.ts";
import type { NoteRewrite, Rewritten, TidyChange, Tidied } from "./changes/tidy.ts";

/** The memory of one agent: its notes, and where their index lies. */
export interface MemoryTarget {
  readonly workspace: string;
  readonly indexPath: string;
  readonly chunking: { readonly tokens: number; readonly overlap: number };
  /** Null: words alone are searched. */
  readonly embedder: EmbedderSettings | null;
  /** Whether what was said in sessions is kept in the index too. */
  readonly talk: boolean;
}

export interface SearchRequest {
  readonly query: string;
  readonly scopes: readonly MemoryScope[] | "all";
  /** Keys of the sessions whose talk is searched too; with all scopes, every one is. */
  readonly sessions?: readonly string[];
  readonly maxResults: number;
  readonly minScore: number;
  readonly hybrid: HybridSettings;
  readonly nowMs: number;
  /** False: what is indexed is searched as it is, unless nothing is. */
  readonly sync: boolean;
  /** When something was last forgotten, on whatever node: an index of before then is made anew. */
  readonly forgottenMs?: number;
}

export interface MemoryHit {
  /** A session's key, where it was said there: its lines are then the numbers of entries. */
  readonly path: string;
  readonly startLine: number;
  readonly endLine: number;
  readonly heading: string;
  readonly score: number;
  readonly source: MemorySource;
  readonly scope: string;
  readonly snippet: string;
  /** In which turn it was said. */
  readonly turn?: string;
  /** Where text of strangers came from that this turn had read. */
  readonly untrusted?: string;
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
  /** Where this process keeps the index. */
  readonly index: string;
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

interface ForgetRequest {
  readonly query: string;
  readonly write: boolean;
  /** As `forgottenMs` of later searches. */
  readonly nowMs: number;
}

export interface KnownTalk {
  readonly session: string;
  /** Changes when entries of the session were taken away: what is known of it is not true any more. */
  readonly since: string;
  readonly throughSeq: number;
}

export interface Talk extends KnownTalk {
  /** The stretch follows this entry; 0 begins. */
  readonly afterSeq: number;
  readonly turns: readonly TalkTurn[];
}

export interface TalkTurn {
  readonly turn: string;
  /** When, for people: it begins with the day. */
  readonly heading: string;
  /** Where text of strangers came from that the turn had read. */
  readonly untrusted: string | null;
  readonly lines: readonly { readonly seq: number; readonly text: string }[];
}

/** A change of one note, as its history keeps it. */
export interface UndoRequest {
  readonly path: string;
  /** Where in the text lines went and came; below 0: they were not kept. */
  readonly at: number;
  readonly removed: string;
  readonly added: string;
  /** SHA-256 of the whole file; null: there was none, or is none after it. */
  readonly before: string | null;
  readonly after: string | null;
}

/** The texts before and after it was undone; the same when there was nothing to do. */
export interface Undone {
  readonly before: string | null;
  readonly after: string | null;
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
  /** Takes a change of a note back. Throws Fault("conflict") when it cannot. */
  undo(target: MemoryTarget, change: UndoRequest): Promise<Undone>;
  /** Groups of lines that may say the same or the opposite, the most alike first. */
  alike(target: MemoryTarget, mostGroups: number): Promise<readonly AlikeLines[]>;
  /** What changes would make of the notes; `day` stands in their marks. Writes nothing. */
  tidied(target: MemoryTarget, changes: readonly TidyChange[], day: string): Promise<Tidied>;
  /** Writes one note anew, if it is still what it was. */
  rewrite(target: MemoryTarget, rewrite: NoteRewrite): Promise<Rewritten>;
  /** What the index knows of these sessions. Those of which it knows nothing are left out. */
  talks(target: MemoryTarget, sessions: readonly string[]): Promise<readonly KnownTalk[]>;
  /** Takes up a stretch of one session; one that does not follow on what is known changes nothing. */
  takeTalk(target: MemoryTarget, talk: Talk): Promise<void>;
  /** Leaves no byte of what was said in a session. */
  dropTalk(target: MemoryTarget, session: string): Promise<void>;
  /** True while an index is built or passages are embedded in the background. */
  isBusy(): Promise<boolean>;
  close(): void;
}
