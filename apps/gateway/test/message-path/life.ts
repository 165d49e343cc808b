// One life of a process inside a test: once it is over, nothing that belonged to it acts or hears anything
// any more, as after kill -9. Also counts what is under way, so that virtual time moves only when all has
// come to rest.
import type { Clock } from "@parley/protocol";

export interface Life {
  readonly clock: Clock;
  /** Calls of the store that were asked for and not answered yet. */
  underWay(): number;
  /** The same port; its calls end with the life. */
  mortal<T extends object>(port: T): T;
  /** As `mortal`, for a port that always answers soon: time stands still while it works. */
  awaited<T extends object>(port: T): T;
  end(): void;
}

export function life(clock: Clock): Life {
  let alive = true;
  let count = 0;

  /** Settles as `work` does while the life goes on, and never after it. */
  const whileAlive = <T>(work: Promise<T>, counts: number): Promise<T> =>
    new Promise((resolve, reject) => {
      count += counts;
      work.then(
        (value) => {
          count -= counts;
          if (alive) resolve(value);
        },
        (error: unknown) => {
          count -= counts;
          if (alive) reject(error as Error);
        },
      );
    });

  function mortal<T extends object>(port: T, counts: number): T {
    return new Proxy(port, {
      get(target, name, receiver) {
        const member: unknown = Reflect.get(target, name, receiver);
        if (typeof member === "object" && member !== null && !Array.isArray(member))
          return mortal(member, counts);
        if (typeof member !== "function") return member;
        return (...args: readonly unknown[]): unknown => {
          if (!alive) return new Promise(() => {});
          const result: unknown = Reflect.apply(member, target, args);
          return result instanceof Promise ? whileAlive(result, counts) : result;
        };
      },
    });
  }

  return {
    clock: {
      now: () => clock.now(),
      mono: () => clock.mono(),
      after: (afterMs, run) => (alive ? clock.after(afterMs, () => alive && run()) : { cancel() {} }),
    },
    underWay: () => count,
    mortal: (port) => mortal(port, 0),
    awaited: (port) => mortal(port, 1),
    end() {
      alive = false;
    },
  };
}

const quietTurns = 3;

/** What the engine calls the reading, writing and closing of a file that is not over. */
const ofFiles = (resource: string): boolean => resource.startsWith("FSReq") || resource === "CloseReq";

/** Resolves when no call is under way and no file is being read, for some turns of the event loop. */
export async function atRest(underWay: () => number): Promise<void> {
  for (let quiet = 0; quiet < quietTurns; quiet += 1) {
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
    if (underWay() > 0 || process.getActiveResourcesInfo().some(ofFiles)) quiet = -1;
  }
}
