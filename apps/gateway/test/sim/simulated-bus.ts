// Words between simulated nodes: late, lost, twice, and none to or from a node that is cut off.
import type { Bus } from "@parley/queue";
import type { Life } from "./life.ts";
import type { World } from "./world.ts";

interface Ear {
  readonly life: Life;
  readonly isReached: () => boolean;
  readonly listen: (topic: string, body: string) => void;
}

export interface SimulatedBus {
  join(life: Life, isReached: () => boolean): Bus;
}

export function simulatedBus(world: World): SimulatedBus {
  const ears = new Set<Ear>();
  return {
    join(life, isReached) {
      const listeners = new Map<string, Set<(body: string) => void>>();
      const own: Ear = {
        life,
        isReached,
        listen(topic, body) {
          for (const listen of listeners.get(topic) ?? []) listen(body);
        },
      };
      ears.add(own);
      life.onDeath(() => void ears.delete(own));
      return {
        shared: true,
        tell(topic, body) {
          const { nth, harm } = world.harmOf("bus");
          if (harm === "lost" || !life.alive || !isReached()) return;
          const afterMs = harm === "slow" ? 3_000 : world.latencyMs("bus", nth);
          for (const ear of ears) {
            if (ear === own) continue;
            const arrive = (): void => {
              if (ear.isReached()) ear.listen(topic, body);
            };
            world.time.after(afterMs, arrive, ear.life);
            if (harm === "twice") world.time.after(afterMs + 500, arrive, ear.life);
          }
        },
        hear(topic, listen) {
          const known = listeners.get(topic) ?? new Set();
          listeners.set(topic, known.add(listen));
          return () => void known.delete(listen);
        },
        close: async () => void ears.delete(own),
      };
    },
  };
}
