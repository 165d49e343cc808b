// Keeps what this browser is as a device: its token, the calls that it has begun, and what was shared with it
// while no page was open. The page and the service worker open the same shelf.
import type { DeviceGrant, DeviceResult } from "@parley/protocol";

export interface PairedAs {
  readonly token: string;
  /** With which the token was chosen; the gateway may not have heard of it yet. A used one does no harm. */
  readonly code?: string;
  readonly name: string;
  readonly grants: readonly DeviceGrant[];
  readonly most: readonly DeviceGrant[];
}

/** `over`: the gateway has the result. */
type KnownCall =
  | { readonly state: "began" | "over"; readonly atMs: number }
  | { readonly state: "done"; readonly atMs: number; readonly result: DeviceResult };

interface ShareWaiting {
  readonly key: string;
  readonly text: string;
  readonly files: readonly { readonly name: string; readonly mediaType: string; readonly data: string }[];
}

export interface Shelf {
  paired(): Promise<PairedAs | null>;
  keepPaired(paired: PairedAs | null): Promise<void>;
  call(id: string): Promise<KnownCall | null>;
  keepCall(id: string, call: KnownCall): Promise<void>;
  shared(): Promise<readonly ShareWaiting[]>;
  keepShared(shared: ShareWaiting): Promise<void>;
  forgetShared(key: string): Promise<void>;
}

const stores = ["paired", "calls", "shared"] as const;
type StoreName = (typeof stores)[number];
/** Longer than a gateway asks again for a call. */
const keptMs = 10 * 86_400_000;

export async function openShelf(nowMs: number): Promise<Shelf> {
  const open = indexedDB.open("parley-device", 1);
  open.addEventListener("upgradeneeded", () => {
    for (const name of stores) open.result.createObjectStore(name);
  });
  const db = await answered(open);

  const reading = <T>(name: StoreName, ask: (store: IDBObjectStore) => IDBRequest): Promise<T> =>
    answered(ask(db.transaction(name).objectStore(name))) as Promise<T>;
  /** Resolves when it is written for good. */
  const writing = (name: StoreName, act: (store: IDBObjectStore) => void): Promise<void> =>
    new Promise((resolve, reject) => {
      const change = db.transaction(name, "readwrite");
      change.addEventListener("complete", () => resolve());
      change.addEventListener("abort", () => reject(change.error ?? new Error("the browser kept nothing")));
      act(change.objectStore(name));
    });

  await writing("calls", (store) => {
    const each = store.openCursor();
    each.addEventListener("success", () => {
      const cursor = each.result;
      if (cursor === null) return;
      if (nowMs - (cursor.value as KnownCall).atMs > keptMs) cursor.delete();
      cursor.continue();
    });
  });

  return {
    paired: async () => (await reading<PairedAs | undefined>("paired", (store) => store.get("as"))) ?? null,
    keepPaired: (paired) =>
      writing("paired", (store) => (paired === null ? store.clear() : store.put(paired, "as"))),
    call: async (id) => (await reading<KnownCall | undefined>("calls", (store) => store.get(id))) ?? null,
    keepCall: (id, call) => writing("calls", (store) => store.put(call, id)),
    shared: () => reading("shared", (store) => store.getAll()),
    keepShared: (shared) => writing("shared", (store) => store.put(shared, shared.key)),
    forgetShared: (key) => writing("shared", (store) => store.delete(key)),
  };
}

function answered<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.addEventListener("success", () => resolve(request.result));
    request.addEventListener("error", () => reject(request.error ?? new Error("the browser's store failed")));
  });
}
