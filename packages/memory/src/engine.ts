// Keeps the indexes of this process and answers what is asked of them. Before a search the notes are looked
// at again, so that what was written a moment ago is found; a large backlog goes on in the background and is
// told. Scope decides before ranking: no chunk of another scope is read.
import { existsSync, statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { Fault, type Clock } from "@parley/protocol";
import { embedder, type EmbedderSettings } from "./embed.ts";
import { vectorsOf, type Vectors } from "./vectors.ts";
import { forgetInFiles, type FoundLines } from "./forget-files.ts";
import { forgetting } from "./forgetting.ts";
import { isDamage, openIndex, removeIndex, type IndexFile } from "./index-file.ts";
import { ranked, type Candidate, type HybridSettings } from "./rank.ts";
import { readMemoryFile } from "./read-file.ts";
import { scopeOfFile, scopeOfPlace, type MemoryScope } from "./scope.ts";
import { snippetOf } from "./snippet.ts";
import { scopeToken, syncFiles, type MemorySource, type SyncStep } from "./sync.ts";
import { coverage, matchExpression, queryWords } from "./words.ts";

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

interface SearchAnswer {
  readonly hits: readonly MemoryHit[];
  /** How it was searched. */
  readonly mode: "keyword" | "hybrid";
  /** What the reader should know: a backlog, an index that was rebuilt, files that are left out. */
  readonly notes: readonly string[];
}

interface GetRequest {
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

interface ForgetRequest {
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

/** How long a search waits for notes that are not indexed yet. */
const patienceMs = 2_000;
/** Between slices of background work, so that a search comes in. */
const pauseMs = 1;

export function memoryEngine({ clock }: { readonly clock: Clock }): MemoryEngine {
  const open = new Map<string, OpenIndex>();

  const indexOf = (target: MemoryTarget): OpenIndex => {
    const key = JSON.stringify(target);
    const known = open.get(key);
    if (known !== undefined && known.file.isThere()) return known;
    // One file has one connection: another workspace or other settings take its place.
    for (const [other, index] of open)
      if (index.target.indexPath === target.indexPath) {
        index.close();
        open.delete(other);
      }
    const wasThere = known !== undefined;
    const index = openedIndex(target, clock, wasThere ? "the index was removed" : null);
    open.set(key, index);
    return index;
  };

  /** Damage that shows only in reading: the index is made anew and the question asked again, once. */
  async function heal<T>(target: MemoryTarget, run: (index: OpenIndex) => Promise<T>): Promise<T> {
    try {
      return await run(indexOf(target));
    } catch (error) {
      if (!isDamage(error)) throw error;
      for (const [key, index] of open) {
        if (index.target.indexPath !== target.indexPath) continue;
        index.close();
        open.delete(key);
      }
      removeIndex(target.indexPath);
      const index = openedIndex(target, clock, "the index was damaged");
      open.set(JSON.stringify(target), index);
      return run(index);
    }
  }

  return {
    search: (target, request) => heal(target, (index) => search(index, request)),
    async get(target, request) {
      return linesOf(target, request);
    },
    status: (target) =>
      heal(target, async (index) => {
        await index.upToDate(patienceMs);
        return statusOf(index);
      }),
    reindex: (target) =>
      heal(target, async (index) => {
        index.wipe();
        await index.upToDate(Infinity);
        index.shrink();
        await index.vectors?.filled();
        return statusOf(index);
      }),
    async forget(target, { query, write }) {
      const what = forgetting(query);
      if (what === null)
        throw new Fault(
          "invalid",
          "say more of what is to be forgotten: words, a name, a number of three signs",
        );
      const found = forgetInFiles(target.workspace, what, write);
      if (write)
        await heal(target, async (index) => {
          index.wipe();
          await index.upToDate(Infinity);
          index.shrink();
        });
      return found;
    },
    isBusy: async () => [...open.values()].some((index) => index.filesLeft() > 0 || index.vectors?.isBusy()),
    close() {
      for (const index of open.values()) index.close();
      open.clear();
    },
  };
}

interface OpenIndex {
  readonly target: MemoryTarget;
  readonly file: IndexFile;
  readonly problems: ReadonlyMap<string, string>;
  /** Told with answers until the index is whole again. */
  readonly rebuilt: () => string | null;
  readonly filesLeft: () => number;
  readonly vectors: Vectors | null;
  /** Takes everything out but the vectors, which the same passages get again. */
  wipe(): void;
  /** Leaves no byte in the file of what is not in the index any more. */
  shrink(): void;
  /** Resolves when the index is what the notes say, or after `waitMs`; the rest goes on by itself. */
  upToDate(waitMs: number): Promise<void>;
  close(): void;
}

function openedIndex(target: MemoryTarget, clock: Clock, lost: string | null): OpenIndex {
  const { indexPath, chunking, workspace } = target;
  const file = openIndex(indexPath, JSON.stringify({ workspace, chunking }));
  const problems = new Map<string, string>();
  const settings = target.embedder;
  const vectors =
    settings === null
      ? null
      : vectorsOf(
          file.db,
          {
            current: embedder(settings),
            // The same service by another model: its key is the one that is at hand.
            byId(id) {
              const [before, after] = [`${settings.provider}/`, `@${settings.baseUrl}`];
              return id.startsWith(before) && id.endsWith(after)
                ? embedder({ ...settings, model: id.slice(before.length, -after.length) })
                : null;
            },
          },
          clock,
        );
  let rebuilt = file.rebuilt ?? lost;
  let filesLeft = 0;
  let closed = false;
  let running: { readonly end: Promise<void> } | null = null;

  const pause = (): Promise<void> => new Promise((resolve) => clock.after(pauseMs, resolve));

  function pass(untilMs: number): void {
    const steps: Generator<SyncStep, void> = syncFiles(file.db, workspace, chunking, problems);
    for (let slices = 0; ; slices += 1) {
      if (closed) return;
      const step = steps.next();
      if (step.done === true) {
        filesLeft = 0;
        rebuilt = null;
        if (slices > 0) vectors?.changed();
        vectors?.fill();
        return;
      }
      ({ filesLeft } = step.value);
      if (clock.mono() >= untilMs) {
        running = { end: rest(steps) };
        return;
      }
    }
  }

  async function rest(steps: Generator<SyncStep, void>): Promise<void> {
    for (;;) {
      await pause();
      if (closed) return;
      const step = steps.next();
      if (step.done === true) break;
      ({ filesLeft } = step.value);
    }
    filesLeft = 0;
    running = null;
    rebuilt = null;
    vectors?.changed();
    vectors?.fill();
  }

  return {
    target,
    file,
    problems,
    rebuilt: () => rebuilt,
    filesLeft: () => filesLeft,
    async upToDate(waitMs) {
      const untilMs = clock.mono() + waitMs;
      if (running !== null) {
        // A pass is under way whose look at the files may be older than this question.
        if (waitMs === Infinity) await running.end;
        else await Promise.race([running.end, new Promise<void>((resolve) => clock.after(waitMs, resolve))]);
        if (running !== null) return;
      }
      pass(untilMs);
    },
    vectors,
    wipe() {
      file.db.exec("DELETE FROM chunks; DELETE FROM files; INSERT INTO words (words) VALUES ('delete-all')");
    },
    shrink() {
      file.db.exec("DELETE FROM vectors WHERE hash NOT IN (SELECT hash FROM chunks)");
      file.db.exec("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
    },
    close() {
      closed = true;
      vectors?.close();
      if (file.db.isOpen) file.close();
    },
  };
}

const mostSnippets = 50;
const mostMeaningChars = 4_000;

async function search(index: OpenIndex, request: SearchRequest): Promise<SearchAnswer> {
  const before = index.rebuilt();
  if (request.sync || isEmpty(index.file.db)) await index.upToDate(patienceMs);
  const notes = notesOf(index, before, request.scopes);
  const words = queryWords(request.query);
  const scopes = request.scopes === "all" ? allScopes(index.file.db) : request.scopes;
  if (words.length === 0 || scopes.length === 0) {
    const why = words.length === 0 ? ["the query has no words to look for"] : [];
    return { hits: [], mode: "keyword", notes: [...why, ...notes] };
  }
  const { hybrid, minScore, nowMs } = request;
  const maxResults = Math.min(mostSnippets, Math.max(1, request.maxResults));
  const most = Math.max(maxResults, Math.ceil(maxResults * hybrid.candidateMultiplier));
  const { db } = index.file;
  const near = (await index.vectors?.near(request.query.slice(0, mostMeaningChars), scopes, most)) ?? null;
  const found = keywordHits(db, words, scopes, most).map((chunk) => ({
    ...chunk,
    vectorScore: near?.scoreOf(chunk.id) ?? 0,
  }));
  const seen = new Set(found.map(({ id }) => id));
  const byMeaning = chunksBy(
    db,
    [...(near?.scores.keys() ?? [])].filter((id) => !seen.has(id)),
  ).map((chunk) => ({
    ...chunk,
    textScore: 0.5 * coverage(words, chunk.text, chunk.heading),
    vectorScore: near?.scores.get(chunk.id) ?? 0,
  }));
  const withVectors = near !== null && near.scores.size > 0;
  const chosen = ranked([...found, ...byMeaning], {
    settings: hybrid,
    withVectors,
    nowMs,
    maxResults,
    minScore,
  });
  const trouble = near === null ? (index.vectors?.trouble() ?? null) : null;
  const flagged = trouble === null ? [] : [`meaning is not searched now, words alone are: ${trouble}`];
  const hits = chosen.map(({ candidate, score }): MemoryHit => {
    const { text, startLine, endLine } = snippetOf(candidate, words);
    const { path, heading, source, scope, last } = candidate;
    return {
      path,
      startLine,
      endLine: Math.min(endLine, last),
      heading,
      score: Math.round(score * 1_000) / 1_000,
      source,
      scope,
      snippet: text,
    };
  });
  return { hits, mode: withVectors ? "hybrid" : "keyword", notes: [...flagged, ...notes] };
}

interface FoundChunk extends Candidate {
  readonly first: number;
  readonly last: number;
  readonly heading: string;
  readonly scope: string;
  readonly source: MemorySource;
}

function keywordHits(
  db: DatabaseSync,
  words: readonly string[],
  scopes: readonly string[],
  most: number,
): readonly FoundChunk[] {
  const rows = db
    .prepare(
      `SELECT rowid AS id, rank FROM words WHERE words MATCH ? AND rank MATCH 'bm25(0.0, 2.0, 1.0)' ORDER BY rank LIMIT ?`,
    )
    .all(matchExpression(words, scopes.map(scopeToken)), most) as unknown as { id: number; rank: number }[];
  const best = Math.max(...rows.map(({ rank }) => -rank), Number.MIN_VALUE);
  return chunksBy(
    db,
    rows.map(({ id }) => id),
  ).map((chunk, at) => {
    const share = coverage(words, chunk.text, chunk.heading);
    return { ...chunk, textScore: 0.5 * (-(rows[at]?.rank ?? 0) / best) + 0.5 * share, vectorScore: 0 };
  });
}

function chunksBy(
  db: DatabaseSync,
  ids: readonly number[],
): readonly Omit<FoundChunk, "textScore" | "vectorScore">[] {
  const one = db.prepare(
    `SELECT c.id, c.first, c.last, c.heading, c.text, c.scope, f.path, f.source
     FROM chunks c JOIN files f ON f.id = c.file WHERE c.id = ?`,
  );
  return ids.map((id) => one.get(id) as unknown as Omit<FoundChunk, "textScore" | "vectorScore">);
}

function isEmpty(db: DatabaseSync): boolean {
  return db.prepare("SELECT 1 FROM files LIMIT 1").get() === undefined;
}

function allScopes(db: DatabaseSync): readonly string[] {
  const rows = db.prepare("SELECT DISTINCT scope FROM files WHERE source = 'memory'").all();
  return (rows as unknown as { scope: string }[]).map(({ scope }) => scope);
}

/** Whoever may not see a file does not learn its name from what is wrong with it. */
function notesOf(
  index: OpenIndex,
  rebuilt: string | null,
  scopes: SearchRequest["scopes"],
): readonly string[] {
  const left = index.filesLeft();
  const problems = [...index.problems].filter(([path]) => {
    const scope = scopeOfPlace(path);
    return scopes === "all" || (scope !== null && scopes.includes(scope));
  });
  const told = problems.slice(0, 5).map(([path, reason]) => `${path}: ${reason}`);
  const more = problems.length - told.length;
  return [
    ...(rebuilt === null ? [] : [`${rebuilt}, and was built anew from the notes`]),
    ...(left === 0 ? [] : [`${left} files are not indexed yet: search again for all of them`]),
    ...told,
    ...(more > 0 ? [`and ${more} more files with problems`] : []),
  ];
}

function statusOf(index: OpenIndex): MemoryStatus {
  const count = (sql: string): number => (index.file.db.prepare(sql).get() as { n: number }).n;
  const { indexPath } = index.target;
  const trouble = index.vectors?.trouble() ?? null;
  return {
    files: count("SELECT count(*) AS n FROM files WHERE sha256 <> '' OR source = 'sessions'"),
    chunks: count("SELECT count(*) AS n FROM chunks"),
    vectors: count("SELECT count(*) AS n FROM vectors"),
    vectorsLeft: index.vectors?.pending() ?? 0,
    filesLeft: index.filesLeft(),
    bytes: ["", "-wal"]
      .map((ending) => `${indexPath}${ending}`)
      .reduce((sum, path) => sum + (existsSync(path) ? statSync(path).size : 0), 0),
    problems: [...index.problems].map(([path, reason]) => ({ path, reason })),
    notes: [
      ...(trouble === null ? [] : [`meaning is not searched now: ${trouble}`]),
      ...notesOf(index, index.rebuilt(), "all"),
    ].filter((note) => !index.problems.has(note.split(": ")[0] ?? "")),
  };
}

/** Throws Fault("denied") for what is no memory file or lies in another scope, Fault("missing"). */
function linesOf({ workspace }: MemoryTarget, request: GetRequest): GetAnswer {
  const path = memoryPath(workspace, request.path);
  const scope = scopeOfFile(path);
  if (scope === null)
    throw new Fault("denied", "only MEMORY.md, USER.md and Markdown files below memory/ are memory");
  // Whoever may not see a file does not learn whether it is there.
  const missing = new Fault("missing", `there is no ${path}, or it is not for this conversation`);
  if (request.scopes !== "all" && !request.scopes.includes(scope)) throw missing;
  const read = readMemoryFile(workspace, path);
  if (read.state === "missing") throw missing;
  if (read.state === "refused") throw new Fault("invalid", `${path}: ${read.reason}`);
  const lines = read.text.replace(/^\ufeff/, "").split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  const from = Math.max(1, request.from);
  if (from > lines.length && lines.length > 0)
    throw new Fault("invalid", `${path} has ${lines.length} lines; there is no line ${from}`);
  const shown: string[] = [];
  let chars = 0;
  for (const line of lines.slice(from - 1, from - 1 + Math.max(1, request.lines))) {
    const room = request.maxChars - chars;
    if (shown.length > 0 && line.length + 1 > room) break;
    shown.push(line.length <= room ? line : `${line.slice(0, room).toWellFormed()} …`);
    chars += line.length + 1;
  }
  return {
    path,
    startLine: from,
    endLine: Math.max(from, from + shown.length - 1),
    totalLines: lines.length,
    text: shown.join("\n"),
  };
}

/** As models write it: with the workspace before it, "./", or the lines of a citation behind it. */
function memoryPath(workspace: string, asked: string): string {
  let path = asked.trim().replace(/#L?\d+(?:-L?\d+)?$/, "");
  if (path.startsWith(`${workspace}/`)) path = path.slice(workspace.length + 1);
  path = path.replace(/^(?:\.\/)+/, "");
  return path.split("/").includes("..") ? "" : path;
}
