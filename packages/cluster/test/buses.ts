// Buses of several nodes in one process.
import type { Bus } from "@parley/queue";

/** They hear each other at once and never themselves. */
export function buses(count: number): readonly Bus[] {
  const all = Array.from({ length: count }, () => new Map<string, Set<(body: string) => void>>());
  return all.map((own) => ({
    shared: true,
    tell(topic, body) {
      for (const other of all) if (other !== own) for (const listen of other.get(topic) ?? []) listen(body);
    },
    hear(topic, listen) {
      own.set(topic, (own.get(topic) ?? new Set()).add(listen));
      return () => void own.get(topic)?.delete(listen);
    },
    close: async () => {},
  }));
}
