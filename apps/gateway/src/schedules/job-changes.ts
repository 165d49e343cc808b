// Tells the process's timer, and other processes, which jobs were written. It watches the store's writes,
// because a job is written by a person, by an agent's call in the transaction of its turn, and by the end of
// a run. A hint may be lost: a shared store is read again now and then.
import { webhookPrefix } from "@parley/runner";
import { jobPrefix } from "@parley/schedules";
import type { CellWrite, Store } from "@parley/store";

export interface JobChanges {
  /** This process wrote the job. */
  wrote(id: string): void;
  /** Another process did. */
  heard(id: string): void;
  /** This process wrote a webhook that is to be called. */
  wroteCall(): void;
  /** Returns how to stop listening. */
  onChange(listener: (id: string) => void): () => void;
  onCall(listener: () => void): () => void;
  tellOthers(tell: (id: string) => void): void;
}

export function jobChanges(): JobChanges {
  const listeners = new Set<(id: string) => void>();
  const callers = new Set<() => void>();
  let tell: (id: string) => void = () => {};
  const heard = (id: string): void => {
    for (const listener of listeners) listener(id);
  };
  return {
    heard,
    wrote(id) {
      heard(id);
      tell(id);
    },
    wroteCall() {
      for (const caller of callers) caller();
    },
    onCall(listener) {
      callers.add(listener);
      return () => void callers.delete(listener);
    },
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    tellOthers(how) {
      tell = how;
    },
  };
}

/** The same store, which tells of jobs that were written. */
export function noticingJobs(store: Store, changes: Pick<JobChanges, "wrote" | "wroteCall">): Store {
  const { cells, turns } = store;
  const wrote = (keys: readonly string[]): void => {
    for (const key of keys) if (key.startsWith(jobPrefix)) changes.wrote(key.slice(jobPrefix.length));
    if (keys.some((key) => key.startsWith(webhookPrefix))) changes.wroteCall();
  };
  const keysOf = (writes: readonly CellWrite[] = []): readonly string[] => writes.map(({ key }) => key);
  return {
    ...store,
    cells: {
      ...cells,
      async put(key, ...how) {
        const cell = await cells.put(key, ...how);
        if (cell !== null) wrote([key]);
        return cell;
      },
      async remove(key, version) {
        const removed = await cells.remove(key, version);
        if (removed) wrote([key]);
        return removed;
      },
    },
    turns: {
      ...turns,
      async checkpoint(lease, at, what) {
        const next = await turns.checkpoint(lease, at, what);
        wrote(keysOf(what.cells));
        return next;
      },
      async commit(lease, id, what) {
        const committed = await turns.commit(lease, id, what);
        wrote(keysOf(what.cells));
        return committed;
      },
    },
  };
}
