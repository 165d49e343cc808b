// Answers one question: passages with its words and passages with its meaning are fused and cut to the
// lines that answer it. Scope decides before ranking: no chunk of another scope is read.
import type { DatabaseSync } from "node:sqlite";
import type { MemoryHit, SearchAnswer, SearchRequest } from "../contract.ts";
import { notesOf } from "../index-status.ts";
import { keywordRows } from "./keywords.ts";
import { isEmpty, patienceMs, type OpenIndex } from "../open-index.ts";
import { prepared } from "../prepared.ts";
import { ranked, type Candidate } from "./rank.ts";
import { talkScope } from "../scope.ts";
import { snippetOf } from "./snippet.ts";
import type { MemorySource } from "../passages.ts";
import { coverage, queryWords } from "../words.ts";

const mostSnippets = 50;
const mostMeaningChars = 4_000;

export async function search(index: OpenIndex, request: SearchRequest): Promise<SearchAnswer> {
  if (request.forgottenMs !== undefined) index.forgotten(request.forgottenMs);
  const before = index.rebuilt();
  if (request.sync || isEmpty(index.file.db)) await index.upToDate(patienceMs);
  const notes = notesOf(index, before, request.scopes);
  const words = queryWords(request.query);
  const scopes =
    request.scopes === "all" ? "all" : [...request.scopes, ...(request.sessions ?? []).map(talkScope)];
  if (words.length === 0 || scopes.length === 0) {
    const why = words.length === 0 ? ["the query has no words to look for"] : [];
    return { hits: [], mode: "keyword", notes: [...why, ...notes] };
  }
  const { hybrid, minScore, nowMs } = request;
  const maxResults = Math.min(mostSnippets, Math.max(1, request.maxResults));
  const most = Math.max(maxResults, Math.ceil(maxResults * hybrid.candidateMultiplier));
  const { db } = index.file;
  const within = index.vectors === null || scopes !== "all" ? scopes : allScopes(db);
  const near =
    within === "all"
      ? null
      : ((await index.vectors?.near(request.query.slice(0, mostMeaningChars), within, most)) ?? null);
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
    const { path, heading, source, scope, first, last, turn, untrusted } = candidate;
    const where =
      source === "memory"
        ? { path, startLine, endLine }
        : { path: path.slice(0, path.lastIndexOf("#")), startLine: first, endLine: last };
    return {
      ...where,
      heading,
      score: Math.round(score * 1_000) / 1_000,
      source,
      scope,
      snippet: text,
      ...(turn === null ? {} : { turn }),
      ...(untrusted === null ? {} : { untrusted }),
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
  readonly turn: string | null;
  readonly untrusted: string | null;
}

function keywordHits(
  db: DatabaseSync,
  words: readonly string[],
  scopes: SearchRequest["scopes"],
  most: number,
): readonly FoundChunk[] {
  const rows = keywordRows(db, words, scopes, most);
  const best = Math.max(...rows.map(({ score }) => score), Number.MIN_VALUE);
  const found = chunksBy(
    db,
    rows.map(({ id }) => id),
  );
  return found.map((chunk, at) => {
    const share = coverage(words, chunk.text, chunk.heading);
    return { ...chunk, textScore: 0.5 * ((rows[at]?.score ?? 0) / best) + 0.5 * share, vectorScore: 0 };
  });
}

function chunksBy(
  db: DatabaseSync,
  ids: readonly number[],
): readonly Omit<FoundChunk, "textScore" | "vectorScore">[] {
  const one = prepared(
    db,
    `SELECT c.id, c.first, c.last, c.heading, c.text, c.scope, f.path, f.source, f.turn, f.untrusted
     FROM chunks c JOIN files f ON f.id = c.file WHERE c.id = ?`,
  );
  return ids.map((id) => {
    const chunk = one.get(id) as unknown as Omit<FoundChunk, "textScore" | "vectorScore">;
    return chunk.source === "sessions" ? { ...chunk, day: chunk.heading.slice(0, 10) } : chunk;
  });
}

function allScopes(db: DatabaseSync): readonly string[] {
  const rows = db.prepare("SELECT DISTINCT scope FROM files").all();
  return (rows as unknown as { scope: string }[]).map(({ scope }) => scope);
}
