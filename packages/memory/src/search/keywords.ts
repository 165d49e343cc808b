// Finds the passages of some scopes that have words of a question. Rare words are ranked by bm25 and
// decide; frequent ones, for which bm25 would visit most of the index, count by their weight alone. A
// search so reads about as many rows in a large memory as in a small one.
import type { DatabaseSync } from "node:sqlite";
import { prepared } from "../prepared.ts";
import { passagesFrom, rangeOf, type Range } from "../scope-ranges.ts";
import { matchTerm } from "../words.ts";

interface WordRow {
  readonly id: number;
  readonly score: number;
}

/** A word that stands in more passages is frequent; the bound is lower where many words are asked. */
const mostRare = 1_000;
const mostCounted = 6_000;
/** Passages that bm25 visits for one question. */
const mostRanked = 1_500;
/** Frequent words that are looked for beside rare ones, the rarest first. */
const mostFrequent = 4;
/** What stands in more than this share of the passages tells nothing, unless nothing else was asked. */
const tellingShare = 1 / 3;

interface Word {
  readonly term: string;
  /** Passages with it in the scopes: counted up to a bound, then judged by how soon the bound was reached. */
  readonly passages: number;
  readonly isRare: boolean;
}

/** The best passages with the words, best first. */
export function keywordRows(
  db: DatabaseSync,
  words: readonly string[],
  scopes: readonly string[] | "all",
  most: number,
): readonly WordRow[] {
  const ranges = scopes === "all" ? [rangeOf(db, "all")] : scopes.map((scope) => rangeOf(db, scope));
  const there = ranges.filter((range) => range !== null);
  if (there.length === 0) return [];
  const size = there.reduce((sum, { passages }) => sum + passages, 0);
  const bound = Math.min(mostRare, Math.floor(mostCounted / Math.max(1, words.length)));
  const known = words
    .map((word) => counted(db, matchTerm(word), there, bound))
    .filter(({ passages }) => passages > 0)
    .toSorted((a, b) => a.passages - b.passages);

  const rare: Word[] = [];
  let ranked = 0;
  for (const word of known)
    if (word.isRare && ranked + word.passages <= mostRanked) {
      rare.push(word);
      ranked += word.passages;
    }
  const others = known.filter((word) => !rare.includes(word));
  const telling = others.filter(({ passages }) => passages <= size * tellingShare);
  const frequent = (telling.length > 0 || rare.length > 0 ? telling : others).slice(0, mostFrequent);

  const scores = new Map<number, number>();
  const add = (id: number, score: number): void => void scores.set(id, (scores.get(id) ?? 0) + score);
  const anyRare = rare.map(({ term }) => term).join(" OR ");
  if (rare.length > 0)
    for (const range of there) for (const row of bm25(db, anyRare, range)) add(row.id, row.score);
  const weights = new Map(frequent.map((word) => [word, weightOf(word, size)]));
  if (rare.length > 0)
    for (const [{ term }, weight] of weights)
      for (const range of there)
        for (const id of idsOf(db, `(${anyRare}) AND ${term}`, range, mostRanked)) add(id, weight);
  // Passages with none of the rare words may have all of the others.
  if (frequent.length > 0 && scores.size < most) {
    const all = frequent.map(({ term }) => term).join(" AND ");
    const every = [...weights.values()].reduce((sum, weight) => sum + weight, 0);
    const fresh = (ids: readonly number[], score: number): void => {
      for (const id of ids) if (!scores.has(id)) scores.set(id, score);
    };
    for (const range of there) fresh(idsOf(db, all, range, most), every);
    if (scores.size < most)
      for (const [{ term }, weight] of weights)
        for (const range of there) fresh(idsOf(db, term, range, most), weight);
  }
  return [...scores]
    .map(([id, score]) => ({ id, score }))
    .toSorted((a, b) => b.score - a.score || b.id - a.id)
    .slice(0, most);
}

function counted(db: DatabaseSync, term: string, ranges: readonly Range[], bound: number): Word {
  let passages = 0;
  let isRare = true;
  for (const range of ranges) {
    const { n, last } = prepared(
      db,
      "SELECT count(*) AS n, min(id) AS last FROM (SELECT rowid AS id FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid DESC LIMIT ?)",
    ).get(term, range.first, range.last, bound) as { n: number; last: number | null };
    if (n < bound || last === null) {
      passages += n;
      continue;
    }
    isRare = false;
    // The newest come first: where the bound was reached soon, the word is everywhere.
    passages += (n * range.passages) / Math.max(n, passagesFrom(db, range, last));
  }
  // bm25 counts a word in passages of all scopes, which costs the more of them there are.
  if (isRare && !ranges.some(({ isAll }) => isAll)) {
    const { n } = prepared(
      db,
      "SELECT count(*) AS n FROM (SELECT rowid FROM words WHERE words MATCH ? LIMIT ?)",
    ).get(term, bound) as { n: number };
    isRare = n < bound;
  }
  return { term, passages, isRare };
}

/** As FTS5's bm25 weighs a word that a passage has once. */
function weightOf({ passages }: Word, size: number): number {
  const n = Math.min(size, passages);
  return Math.max(1e-6, Math.log((size - n + 0.5) / (n + 0.5)));
}

function bm25(db: DatabaseSync, match: string, { first, last }: Range): readonly WordRow[] {
  return prepared(
    db,
    "SELECT rowid AS id, -rank AS score FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ? AND rank MATCH 'bm25(2.0, 1.0)'",
  ).all(match, first, last) as unknown as WordRow[];
}

/** The newest passages first. */
function idsOf(db: DatabaseSync, match: string, { first, last }: Range, most: number): readonly number[] {
  const rows = prepared(
    db,
    "SELECT rowid AS id FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid DESC LIMIT ?",
  ).all(match, first, last, most) as unknown as { id: number }[];
  return rows.map(({ id }) => id);
}
