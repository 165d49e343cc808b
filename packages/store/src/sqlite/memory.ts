// Remembers the records that each message reads several times: cells, sessions, and when a pool's next lane
// is due. Every write of this handle goes through it, and whatever undoes a write, or changes a table beside
// its own verbs, calls `clear`. SQLite counts what other connections committed: when that count moved, all is
// forgotten. So what is remembered is what a statement would find. Leases are not remembered: a holder is
// refused by the file itself.
import type { DatabaseSync } from "node:sqlite";
import { query } from "./statements.ts";

interface Remembered<R> {
  /** Undefined when it has to be read; null when there is no such record. */
  get(key: string): R | null | undefined;
  /** Returns what it was given. */
  keep(key: string, record: R | null): R | null;
  forget(key: string): void;
  clear(): void;
}

export interface Memory {
  of<R>(): Remembered<R>;
  /** Others may have written since the last work: the next `get` asks whether they did. */
  doubt(): void;
  /** Forgets all. */
  clear(): void;
}

/** Of each kind; a record may hold some kilobytes. */
const mostKept = 256;

export function storeMemory(db: DatabaseSync): Memory {
  const kinds: { clear(): void }[] = [];
  const clear = (): void => kinds.forEach((known) => known.clear());
  /** Differs between two calls when another connection, of any process, committed between them. */
  const version = query<{ readonly data_version: number }>(db, "pragma data_version");
  let seen = version.get()?.data_version;
  let isDoubted = false;
  const look = (): void => {
    isDoubted = false;
    const now = version.get()?.data_version;
    if (now !== seen) clear();
    seen = now;
  };

  return {
    of<R>(): Remembered<R> {
      const known = new Map<string, R | null>();
      kinds.push(known);
      return {
        get(key) {
          if (isDoubted) look();
          return known.get(key);
        },
        keep(key, record) {
          if (known.size >= mostKept && !known.has(key)) known.delete(known.keys().next().value ?? "");
          known.set(key, record);
          return record;
        },
        forget: (key) => void known.delete(key),
        clear: () => known.clear(),
      };
    },
    doubt: () => void (isDoubted = true),
    clear,
  };
}
