// Messages that are not known to have arrived, kept over a reload. Each has its own entry and its own
// idempotency key, so that a repeat, from this tab or another, is stored once.

export interface Unsent {
  /** The idempotency key. */
  readonly key: string;
  readonly text: string;
  /** The conversation that it is for; null is the first. */
  readonly thread: string | null;
  readonly files?: readonly UnsentFile[];
  readonly atMs: number;
}

export interface UnsentFile {
  readonly name: string;
  readonly mediaType: string;
  /** Spoken for the agent. */
  readonly voice?: true;
  /** In base64, as the gateway takes it. */
  readonly data: string;
}

export interface Outbox {
  /** Oldest first. */
  list(): readonly Unsent[];
  add(message: Unsent): void;
  remove(key: string): void;
}

const prefix = "parley.outbox.";

export function storedOutbox(storage: Storage): Outbox {
  return {
    list() {
      const found: Unsent[] = [];
      for (let index = 0; index < storage.length; index += 1) {
        const name = storage.key(index);
        const unsent =
          name?.startsWith(prefix) === true ? read(storage.getItem(name), name.slice(prefix.length)) : null;
        if (unsent !== null) found.push(unsent);
      }
      return found.toSorted((a, b) => a.atMs - b.atMs);
    },
    add({ key, ...message }) {
      try {
        storage.setItem(prefix + key, JSON.stringify(message));
      } catch (error) {
        // Browsers keep about 5 MB. What does not fit goes out all the same, as long as the page stays open.
        if (!(error instanceof DOMException)) throw error;
      }
    },
    remove: (key) => storage.removeItem(prefix + key),
  };
}

function isFile(file: unknown): file is UnsentFile {
  const { name, mediaType, data } = (file ?? {}) as { readonly [field: string]: unknown };
  return [name, mediaType, data].every((field) => typeof field === "string");
}

function read(value: string | null, key: string): Unsent | null {
  try {
    const { text, atMs, thread, files } = JSON.parse(value ?? "null") as { readonly [name: string]: unknown };
    if (typeof text !== "string" || typeof atMs !== "number") return null;
    const along = Array.isArray(files) ? { files: files.filter(isFile) } : {};
    return { key, text, atMs, thread: typeof thread === "string" ? thread : null, ...along };
  } catch {
    // Anything on this origin can write here; what is not ours is left alone.
    return null;
  }
}
