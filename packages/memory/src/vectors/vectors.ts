// Keeps a vector for every passage, by the passage's content, and finds the nearest ones. Passages get theirs
// in the background; one that was seen before is never sent again. After a change of the model the vectors
// of the old one go on serving until the new ones are all there. One array for each scope is compared, so
// that a query never touches another scope's.
import type { DatabaseSync } from "node:sqlite";
import { isFault, type Clock } from "@parley/protocol";
import type { Embedder } from "./embed.ts";
import { prepared } from "../prepared.ts";
import { asked, dimsOf, likeness, packed, scopeVectors, type ScopeVectors } from "./vector-scan.ts";

/** The embedder that the config names, and one by another model with the same key. */
interface Embedders {
  readonly current: Embedder;
  /** Null for a model that cannot be asked any more. */
  byId(id: string): Embedder | null;
}

interface NearPassages {
  /** Cosine by id of the chunk. */
  readonly scores: ReadonlyMap<number, number>;
  /** Of any chunk in the scopes that were searched; null where it has no vector. */
  scoreOf(chunk: number): number | null;
}

export interface Vectors {
  /** Begins to embed what has no vector yet; returns at once. */
  fill(): void;
  /** Resolves when there is nothing left to embed, or when it does not work. */
  filled(): Promise<void>;
  /** Null with `trouble` told, when meaning cannot be searched now. */
  near(query: string, scopes: readonly string[], most: number): Promise<NearPassages | null>;
  /** A passage came into the index, or went: what is held of its scope follows. */
  added(id: number, scope: string, hash: Uint8Array): void;
  dropped(id: number, scope: string): void;
  /** What is held is read again. */
  forgetAll(): void;
  pending(): number;
  isBusy(): boolean;
  readonly model: string;
  trouble(): string | null;
  close(): void;
}

const queryMs = 8_000;
const batchMs = 60_000;
const firstPauseMs = 5_000;
const longestPauseMs = 300_000;
const keptQueries = 100;

export function vectorsOf(db: DatabaseSync, { current, byId }: Embedders, clock: Clock): Vectors {
  /** Of the scopes that were searched; null for one without vectors. */
  const arrays = new Map<string, ScopeVectors | null>();
  const queries = new Map<string, Float32Array>();
  const ending = new AbortController();
  let trouble: string | null = null;
  let running: Promise<void> | null = null;
  let pauseMs = firstPauseMs;
  let restUntilMs = 0;

  const pendingSql = db.prepare(
    `SELECT DISTINCT c.hash AS hash FROM chunks c LEFT JOIN vectors v ON v.model = ? AND v.hash = c.hash WHERE v.hash IS NULL`,
  );
  const oneSql = db.prepare("SELECT heading, text FROM chunks WHERE hash = ? LIMIT 1");
  const putSql = db.prepare("INSERT OR REPLACE INTO vectors (model, hash, vector) VALUES (?, ?, ?)");

  const pending = (): number =>
    (
      db
        .prepare(
          `SELECT count(DISTINCT c.hash) AS n FROM chunks c LEFT JOIN vectors v ON v.model = ? AND v.hash = c.hash WHERE v.hash IS NULL`,
        )
        .get(current.id) as { n: number }
    ).n;

  /** The model whose vectors are compared. */
  const serving = (): Embedder => {
    const row = db.prepare("SELECT value FROM meta WHERE key = 'serving'").get() as
      | { value: string }
      | undefined;
    if (row === undefined || row.value === current.id) return current;
    return byId(row.value) ?? current;
  };

  /** Aborted when it takes longer, and when the index is closed. Nothing of it stays once it has ended. */
  async function within<T>(ms: number, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const late = new AbortController();
    const timer = clock.after(ms, () => late.abort());
    try {
      return await ask(AbortSignal.any([late.signal, ending.signal]));
    } finally {
      timer.cancel();
    }
  }

  async function work(): Promise<void> {
    const hashes = (pendingSql.all(current.id) as unknown as { hash: Uint8Array }[]).map(({ hash }) => hash);
    for (let at = 0; at < hashes.length && !ending.signal.aborted; at += current.batch) {
      const batch = hashes.slice(at, at + current.batch).flatMap((hash) => {
        const row = oneSql.get(hash) as { heading: string; text: string } | undefined;
        return row === undefined
          ? []
          : [{ hash, text: row.heading === "" ? row.text : `${row.heading}\n${row.text}` }];
      });
      if (batch.length === 0) continue;
      const texts = batch.map(({ text }) => text);
      const made = await within(batchMs, (signal) => current.embed(texts, "document", signal));
      if (ending.signal.aborted) return;
      db.exec("BEGIN IMMEDIATE");
      for (const [index, { hash }] of batch.entries()) {
        const vector = made[index];
        if (vector !== undefined) putSql.run(current.id, hash, packed(vector));
      }
      db.exec("COMMIT");
      if (serving() === current) for (const { hash } of batch) takeIn(hash);
      trouble = null;
      pauseMs = firstPauseMs;
    }
    if (!ending.signal.aborted) takeUp();
  }

  /** All passages have vectors of the current model: those of others go. */
  function takeUp(): void {
    const changed = serving() !== current;
    db.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('serving', ?)").run(current.id);
    db.prepare("DELETE FROM vectors WHERE model <> ?").run(current.id);
    db.prepare("DELETE FROM vectors WHERE hash NOT IN (SELECT hash FROM chunks)").run();
    if (changed) arrays.clear();
  }

  function fill(): void {
    if (running !== null || ending.signal.aborted || clock.mono() < restUntilMs || pending() === 0) {
      if (running === null && !ending.signal.aborted && pending() === 0 && serving() !== current) takeUp();
      return;
    }
    running = work()
      .catch((error: unknown) => {
        if (!isFault(error)) throw error;
        if (ending.signal.aborted) return;
        trouble = error.message;
        const waitMs = error.retryAfterMs ?? pauseMs;
        restUntilMs = clock.mono() + waitMs;
        clock.after(waitMs, fill);
        pauseMs = Math.min(longestPauseMs, pauseMs * 2);
      })
      .finally(() => {
        running = null;
      });
  }

  async function embedded(query: string, by: Embedder): Promise<Float32Array> {
    const key = `${by.id}\0${query}`;
    const known = queries.get(key);
    if (known !== undefined) return known;
    const [made = new Float32Array()] = await within(queryMs, (signal) => by.embed([query], "query", signal));
    queries.set(key, made);
    const [oldest] = queries.keys();
    if (queries.size > keptQueries && oldest !== undefined) queries.delete(oldest);
    return made;
  }

  /** Passages whose vector came just now. */
  function takeIn(hash: Uint8Array): void {
    const rows = prepared(db, "SELECT id, scope FROM chunks WHERE hash = ?").all(hash);
    for (const { id, scope } of rows as unknown as { id: number; scope: string }[]) added(id, scope, hash);
  }

  function added(id: number, scope: string, hash: Uint8Array): void {
    const array = arrays.get(scope);
    if (array === undefined) return;
    const row = prepared(db, "SELECT vector FROM vectors WHERE model = ? AND hash = ?").get(
      serving().id,
      hash,
    ) as { vector: Uint8Array } | undefined;
    if (row === undefined) return;
    if (array === null) arrays.delete(scope);
    else if (array.dims === dimsOf(row.vector)) {
      array.remove(id);
      array.add(id, row.vector);
    }
  }

  function arrayOf(scope: string, model: string): ScopeVectors | null {
    const known = arrays.get(scope);
    if (known !== undefined) return known;
    let made: ScopeVectors | null = null;
    // By their hashes first: the texts of the passages are not read for it.
    const rows = prepared(
      db,
      "SELECT c.id AS id, v.vector AS vector FROM chunks c JOIN vectors v ON v.model = ? AND v.hash = c.hash WHERE c.scope = ?",
    ).iterate(model, scope) as Iterable<unknown> as Iterable<{ id: number; vector: Uint8Array }>;
    for (const { id, vector } of rows) {
      made ??= scopeVectors(dimsOf(vector));
      if (made.dims === dimsOf(vector)) made.add(id, vector);
    }
    arrays.set(scope, made);
    return made;
  }

  async function near(query: string, scopes: readonly string[], most: number): Promise<NearPassages | null> {
    if (clock.mono() < restUntilMs && trouble !== null) return null;
    const by = serving();
    let vector: Float32Array;
    try {
      vector = await embedded(query, by);
    } catch (error) {
      if (!isFault(error)) throw error;
      trouble = error.message;
      restUntilMs = clock.mono() + (error.retryAfterMs ?? firstPauseMs);
      return null;
    }
    // The new model's vectors may have come to be all there meanwhile.
    if (serving().id !== by.id) return near(query, scopes, most);
    const question = asked(vector);
    const best = nearest(most);
    for (const scope of scopes) {
      const array = arrayOf(scope, by.id);
      if (array?.dims === vector.length) array.scan(question, best.offer);
    }
    return {
      scores: best.scores(),
      scoreOf(chunk) {
        const row = prepared(
          db,
          "SELECT v.vector AS vector FROM chunks c JOIN vectors v ON v.model = ? AND v.hash = c.hash WHERE c.id = ?",
        ).get(by.id, chunk) as { vector: Uint8Array } | undefined;
        return row === undefined || dimsOf(row.vector) !== vector.length
          ? null
          : likeness(row.vector, question);
      },
    };
  }

  return {
    model: current.id,
    fill,
    async filled() {
      fill();
      await running;
    },
    near,
    added,
    dropped: (id, scope) => arrays.get(scope)?.remove(id),
    forgetAll: () => arrays.clear(),
    pending,
    isBusy: () => running !== null,
    trouble: () => trouble,
    close: () => ending.abort(),
  };
}

/** Keeps the best of what it is offered, best first. */
function nearest(most: number) {
  const kept: { readonly id: number; readonly cosine: number }[] = [];
  let least = -Infinity;
  return {
    offer(id: number, cosine: number): void {
      if (cosine <= least) return;
      let at = kept.length;
      while (at > 0 && (kept[at - 1]?.cosine ?? 0) < cosine) at -= 1;
      kept.splice(at, 0, { id, cosine });
      if (kept.length <= most) return;
      kept.pop();
      least = kept.at(-1)?.cosine ?? least;
    },
    scores: (): ReadonlyMap<number, number> => new Map(kept.map(({ id, cosine }) => [id, cosine])),
  };
}
