// Remembers the records that each message reads several times: cells, sessions, and when a pool's next lane
// is due. Only for a handle that alone writes to its file (`exclusive`): every write goes through it, and
// whatever undoes a write, or changes a table beside its own verbs, calls `clear`. So what is remembered is
// what a statement would find. Leases are not remembered: a holder is refused by the file itself.

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
  /** Forgets all. */
  clear(): void;
}

/** Of each kind; a record may hold some kilobytes. */
const mostKept = 256;

/** `isAlone`: false for a handle beside others, which remembers nothing. */
export function storeMemory(isAlone: boolean): Memory {
  const kinds: { clear(): void }[] = [];
  return {
    of<R>(): Remembered<R> {
      const known = new Map<string, R | null>();
      kinds.push(known);
      return {
        get: (key) => known.get(key),
        keep(key, record) {
          if (!isAlone) return record;
          if (known.size >= mostKept && !known.has(key)) known.delete(known.keys().next().value ?? "");
          known.set(key, record);
          return record;
        },
        forget: (key) => void known.delete(key),
        clear: () => known.clear(),
      };
    },
    clear: () => kinds.forEach((known) => known.clear()),
  };
}
