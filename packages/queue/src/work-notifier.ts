// Notifies lane runners that work may be ready. A hint may be lost, late or spurious: runners poll every two
// seconds, so losing all hints costs latency and never a message. Hints decide nothing; only the store gives
// out work (I3).

/** A listener returns true when it looks for work now, so that nobody else needs the hint. */
export type Wake = (pool: string) => boolean;

export interface WorkNotifier {
  /** Returns a function that stops listening. */
  onReady(wake: Wake): () => void;
  /**
   * Receives hints of other processes for one more pool; returns how to stop. Hints given here always reach
   * this process.
   */
  serve(pool: string): () => void;
  close(): Promise<void>;
}

/** The store's `onReady`: reports pool, and where known lane and due time, of what this process wrote. */
export type HintSource = (wake: (pool: string, lane?: string, atMs?: number) => void) => () => void;

/** Notifies the runners of one process. */
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

/**
 * Tells every listener, because several runners may share a pool. Returns true when one of them looks now.
 */
export function tellAll(listeners: ReadonlySet<Wake>, pool: string): boolean {
  let heard = false;
  for (const wake of listeners) if (wake(pool)) heard = true;
  return heard;
}
