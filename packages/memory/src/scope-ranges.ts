// Gives every scope a range of passage numbers of its own, so that a search reads no passage of another
// scope, not even to count its words.
import type { DatabaseSync } from "node:sqlite";
import { prepared } from "./prepared.ts";

export interface Range {
  readonly first: number;
  readonly last: number;
  readonly passages: number;
  readonly isAll: boolean;
}

/** Of one scope; numbers stay exact in a double up to 2^53, which leaves room for two million scopes. */
const width = 2 ** 32;
/** What was said in sessions lies above all notes. */
const talkFrom = 2 ** 20;

const isTalk = (scope: string): boolean => scope.startsWith("talk:");

interface ScopeRow {
  readonly id: number;
  readonly passages: number;
}

const rowOf = (db: DatabaseSync, scope: string): ScopeRow | undefined =>
  prepared(db, "SELECT id, passages FROM scopes WHERE scope = ?").get(scope) as ScopeRow | undefined;

/** The number of a passage that is added to a scope. */
export function addedTo(db: DatabaseSync, scope: string): number {
  let number = rowOf(db, scope)?.id;
  if (number === undefined) {
    const from = isTalk(scope) ? talkFrom : 0;
    const { last } = prepared(db, "SELECT max(id) AS last FROM scopes WHERE id BETWEEN ? AND ?").get(
      from,
      from + talkFrom - 1,
    ) as { last: number | null };
    number = (last ?? from) + 1;
    prepared(db, "INSERT INTO scopes (id, scope, passages) VALUES (?, ?, 0)").run(number, scope);
  }
  prepared(db, "UPDATE scopes SET passages = passages + 1 WHERE id = ?").run(number);
  return (usedOf(db, number)?.last ?? number * width) + 1;
}

export function takenFrom(db: DatabaseSync, scope: string): void {
  prepared(db, "UPDATE scopes SET passages = passages - 1 WHERE scope = ?").run(scope);
}

/** Of one scope, or of all. Null: nothing is there. */
export function rangeOf(db: DatabaseSync, scope: string): Range | null {
  if (scope === "all") {
    const { n } = prepared(db, "SELECT sum(passages) AS n FROM scopes").get() as {
      n: number | null;
    };
    return n === null || n === 0
      ? null
      : { first: 0, last: 2 * talkFrom * width - 1, passages: n, isAll: true };
  }
  const row = rowOf(db, scope);
  if (row === undefined || row.passages === 0) return null;
  return {
    first: row.id * width,
    last: (row.id + 1) * width - 1,
    passages: row.passages,
    isAll: false,
  };
}

/** About how many passages of the range have this number or a higher one. */
export function passagesFrom(db: DatabaseSync, range: Range, id: number): number {
  const number = Math.floor(id / width);
  const used = usedOf(db, number);
  const { own, above } = prepared(
    db,
    "SELECT (SELECT passages FROM scopes WHERE id = ?1) AS own, (SELECT sum(passages) FROM scopes WHERE id > ?1 AND id <= ?2) AS above",
  ).get(number, Math.floor(range.last / width)) as { own: number | null; above: number | null };
  if (used === null) return range.passages;
  return (above ?? 0) + ((own ?? 0) * (used.last - id + 1)) / (used.last - used.first + 1);
}

/** The lowest and the highest number in use. */
function usedOf(db: DatabaseSync, number: number): { readonly first: number; readonly last: number } | null {
  const { first, last } = prepared(
    db,
    "SELECT (SELECT min(id) FROM chunks WHERE id BETWEEN ?1 AND ?2) AS first, (SELECT max(id) FROM chunks WHERE id BETWEEN ?1 AND ?2) AS last",
  ).get(number * width, (number + 1) * width - 1) as { first: number | null; last: number | null };
  return first === null || last === null ? null : { first, last };
}
