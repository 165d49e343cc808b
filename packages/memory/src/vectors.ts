// Keeps a vector for every passage, by the passage's content, and finds the nearest ones. Passages get theirs
// in the background; one that was seen before is never sent again. After a change of the model the vectors
// of the old one go on serving until the new ones are all there. One array for each scope is compared, so
// that a query never touches another scope's.
import type { DatabaseSync } from "node:sqlite";
import { isFault, type Clock } from "@parley/protocol";
import type { Embedder } from "./embed.ts";

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
  /** The notes changed: arrays are read again. */
  changed(): void;
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

interface ScopeArray {
  readonly ids: readonly number[];
  readonly dims: number;
  readonly values: Float32Array;
}

export function vectorsOf(db: DatabaseSync, { current, byId }: Embedders, clock: Clock): Vectors {
  const arrays = new Map<string, ScopeArray>();
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

  const timed = (ms: number): AbortSignal => {
    const late = new AbortController();
    const timer = clock.after(ms, () => late.abort());
    const signal = AbortSignal.any([late.signal, ending.signal]);
    ending.signal.addEventListener("abort", () => timer.cancel(), { once: true });
    return signal;
  };

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
      const made = await current.embed(
        batch.map(({ text }) => text),
        "document",
        timed(batchMs),
      );
      if (ending.signal.aborted) return;
      db.exec("BEGIN IMMEDIATE");
      for (const [index, { hash }] of batch.entries()) {
        const vector = made[index];
        if (vector !== undefined)
          putSql.run(current.id, hash, new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength));
      }
      db.exec("COMMIT");
      if (serving() === current) arrays.clear();
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
    const [made = new Float32Array()] = await by.embed([query], "query", timed(queryMs));
    queries.set(key, made);
    const [oldest] = queries.keys();
    if (queries.size > keptQueries && oldest !== undefined) queries.delete(oldest);
    return made;
  }

  function arrayOf(scope: string, model: string): ScopeArray {
    const known = arrays.get(scope);
    if (known !== undefined) return known;
    const rows = db
      .prepare(
        "SELECT c.id AS id, v.vector AS vector FROM chunks c JOIN vectors v ON v.model = ? AND v.hash = c.hash WHERE c.scope = ? ORDER BY c.id",
      )
      .all(model, scope) as unknown as { id: number; vector: Uint8Array }[];
    const dims = (rows[0]?.vector.byteLength ?? 0) / 4;
    const good = rows.filter(({ vector }) => vector.byteLength === dims * 4);
    const values = new Float32Array(good.length * dims);
    const bytes = new Uint8Array(values.buffer);
    for (const [at, { vector }] of good.entries()) bytes.set(vector, at * dims * 4);
    const made = { ids: good.map(({ id }) => id), dims, values };
    arrays.set(scope, made);
    return made;
  }

  async function near(query: string, scopes: readonly string[], most: number): Promise<NearPassages | null> {
    if (clock.mono() < restUntilMs && trouble !== null) return null;
    const by = serving();
    let asked: Float32Array;
    try {
      asked = await embedded(query, by);
    } catch (error) {
      if (!isFault(error)) throw error;
      trouble = error.message;
      restUntilMs = clock.mono() + (error.retryAfterMs ?? firstPauseMs);
      return null;
    }
    // The new model's vectors may have come to be all there meanwhile.
    if (serving().id !== by.id) return near(query, scopes, most);
    const all = new Map<number, number>();
    for (const scope of scopes) {
      const { ids, dims, values } = arrayOf(scope, by.id);
      if (dims !== asked.length) continue;
      for (const [at, id] of ids.entries()) {
        let dot = 0;
        const from = at * dims;
        for (let i = 0; i < dims; i += 1) dot += (values[from + i] ?? 0) * (asked[i] ?? 0);
        all.set(id, dot);
      }
    }
    const best = [...all].toSorted((a, b) => b[1] - a[1]).slice(0, most);
    return { scores: new Map(best), scoreOf: (chunk) => all.get(chunk) ?? null };
  }

  return {
    model: current.id,
    fill,
    async filled() {
      fill();
      await running;
    },
    near,
    changed: () => arrays.clear(),
    pending,
    isBusy: () => running !== null,
    trouble: () => trouble,
    close: () => ending.abort(),
  };
}
