// Runs a function until it succeeds once: concurrent callers wait for it, and callers after a failure try
// again.

export function once<T>(run: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | null = null;
  return () => {
    running ??= run().catch((error: unknown) => {
      running = null;
      throw error;
    });
    return running;
  };
}
