// One life of the process, from boot to death. Nothing of a dead life acts any more: its timers never fire,
// its calls never resolve, and no call of it reaches the store. A request that was on its way to a platform
// when the process died may still arrive: the seed decides.
import { Fault, type Clock } from "@parley/protocol";
import { slowMs, type World } from "./world.ts";

export interface Life {
  readonly bootId: string;
  readonly alive: boolean;
  readonly frozenUntilMs: number;
  readonly clock: Clock;
  /** Ends it without another step. */
  die(why: string): void;
  freeze(forMs: number): void;
  /** Timers and calls that wait. */
  waiting(): number;
  /**
   * A call to the outside world: it travels, arrives, acts there, and its answer travels back. `what` stands
   * in the log.
   */
  request<T>(port: string, what: string, act: () => T, how?: RequestHow): Promise<T>;
  onDeath(end: () => void): void;
}

interface RequestHow {
  /** Aborting leaves it open whether the request arrived. */
  readonly signal?: AbortSignal;
  /** Told when the caller cannot know whether the request was carried out. */
  readonly onUnknown?: () => void;
}

/** `skewMs`: how wrong its wall clock is. */
export function life(world: World, bootId: string, onDeath: () => void, skewMs = 0): Life {
  const { time } = world;
  const owner = { alive: true, frozenUntilMs: 0 };
  /** Requests on their way, which the platform may still see. */
  const travelling = new Set<() => void>();
  const endings = new Set<() => void>([onDeath]);

  const self: Life = {
    bootId,
    get alive() {
      return owner.alive;
    },
    get frozenUntilMs() {
      return owner.frozenUntilMs;
    },
    clock: {
      now: () => time.now() + skewMs,
      mono: () => time.now(),
      after: (afterMs, run) => time.after(afterMs, run, owner),
    },
    die(why) {
      if (!owner.alive) return;
      world.note(`${bootId} dies: ${why}`);
      owner.alive = false;
      for (const end of [...travelling, ...endings]) end();
      travelling.clear();
    },
    freeze(forMs) {
      world.note(`${bootId} freezes for ${forMs} ms`);
      owner.frozenUntilMs = time.now() + forMs;
    },
    waiting: () => time.waiting(owner),
    onDeath: (end) => void endings.add(end),
    request<T>(port: string, what: string, act: () => T, how: RequestHow = {}): Promise<T> {
      const { nth, harm } = world.harmOf(port);
      const { signal, onUnknown = () => {} } = how;
      const wayMs = harm === "slow" ? slowMs(world, port, nth) : world.latencyMs(port, nth);
      return new Promise((resolve, reject) => {
        if (harm === "crash before") return self.die(`${port}#${nth}`);
        if (harm === "fail before")
          return later(wayMs, () => reject(new Fault("unavailable", "simulated: could not connect")));
        if (harm === "limited")
          return later(wayMs, () =>
            reject(new Fault("rate_limited", "simulated: too fast", { retryAfterMs: 2_000 })),
          );

        const arrive = (): void => {
          over();
          world.note(`${port}#${nth} ${what}`);
          let answer: T;
          try {
            answer = act();
          } catch (error) {
            return later(1, () => reject(error));
          }
          if (harm === "crash after") {
            onUnknown();
            return self.die(`${port}#${nth}`);
          }
          if (harm === "fail after") return later(1, unknown);
          if (!owner.alive) return onUnknown();
          later(1, () => resolve(answer));
        };
        const unknown = (): void => {
          onUnknown();
          reject(new Fault("ambiguous", "simulated: the connection broke before the answer"));
        };
        /** Nobody waits for the answer any more; whether the request still arrives, the seed decides. */
        const cut = (): void => {
          arrival.cancel();
          over();
          onUnknown();
          if (world.draw(`arrives ${port} ${nth}`) < 0.5) {
            world.note(`${port}#${nth} ${what} (nobody waits for it)`);
            try {
              act();
            } catch {
              // Refused by the platform; there is nobody to tell.
            }
          }
        };
        const abort = (): void => {
          cut();
          later(1, () => reject(new Fault("ambiguous", "simulated: aborted while the answer was awaited")));
        };
        const over = (): void => {
          travelling.delete(cut);
          signal?.removeEventListener("abort", abort);
        };
        if (signal?.aborted === true)
          return reject(new Fault("aborted", "simulated: aborted before it began"));
        if (harm === "vague") return later(wayMs, unknown);
        travelling.add(cut);
        signal?.addEventListener("abort", abort, { once: true });
        // The platform acts whether or not the process is frozen meanwhile.
        const arrival = time.after(wayMs, arrive);
      });
    },
  };

  const later = (afterMs: number, run: () => void): void => void time.after(afterMs, run, owner);
  return self;
}
