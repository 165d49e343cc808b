// Who tells a lane runner that there may be work. A hint may be lost, late or spurious: the runner looks by itself every two seconds, so
// losing every hint costs latency and never a message. Nothing is decided by a hint; the store alone gives out work (I3).

/** `true` from a listener: it looks for work now, so nobody else needs to be told. */
export type Wake = (pool: string) => boolean;

export interface WorkNotifier {
  /** Returns how to stop listening. */
  onReady(wake: Wake): () => void;
  /** Hears hints for one more pool from other processes; returns how to stop. Hints given here always reach this process. */
  serve(pool: string): () => void;
  close(): Promise<void>;
}

/** What a store tells of what this process wrote: pool, and lane and due time where it knows. `store.onReady`. */
export type HintSource = (wake: (pool: string, lane?: string, atMs?: number) => void) => () => void;

/** Hints within one process. */
export function localNotifier(source: HintSource): WorkNotifier {
  const listeners = new Set<Wake>();
  const stop = source((pool) => void tellAll(listeners, pool));
  return {
    onReady(wake) {
      listeners.add(wake);
      return () => void listeners.delete(wake);
    },
    serve: () => () => {},
    close: async () => stop(),
  };
}

/** True when somebody looks now. Everybody is told: several runners may have the same pool. */
export function tellAll(listeners: ReadonlySet<Wake>, pool: string): boolean {
  let heard = false;
  for (const wake of listeners) if (wake(pool)) heard = true;
  return heard;
}
