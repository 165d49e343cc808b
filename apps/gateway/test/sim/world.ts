// What outlives a crash of the process: time, the platforms, the history of the run, and the list of what is
// still to go wrong.
import { createHash } from "node:crypto";
import { draws, type Draw } from "./chance.ts";
import type { Harm, Plan } from "./plan.ts";
import { timeline, type Timeline } from "./timeline.ts";

export interface World {
  readonly plan: Plan;
  readonly draw: Draw;
  readonly time: Timeline;
  /** One line of the event log: what its hash is made of. */
  note(line: string): void;
  /** The product broke a promise. `law` is the number of the invariant in DESIGN section 1. */
  broken(law: string, what: string): void;
  readonly violations: readonly Violation[];
  history(): readonly string[];
  hash(): string;
  /** The harm that the plan holds for this call of a port, once; counts the calls. */
  harmOf(port: string): { readonly nth: number; readonly harm: Harm | null };
  /** Something else goes wrong: a kill, an end, a freeze. */
  harm(): void;
  /** From now on nothing goes wrong any more. */
  heal(): void;
  /** Harms that came about. */
  harmed(): number;
  /** How long a call takes, in milliseconds. */
  latencyMs(port: string, nth: number): number;
}

export interface Violation {
  readonly law: string;
  readonly what: string;
}

export function world(plan: Plan): World {
  const draw = draws(plan.seed);
  const time = timeline(draw);
  const startMs = time.now();
  const lines: string[] = [];
  const violations: Violation[] = [];
  const calls = new Map<string, number>();
  const harms = new Map(
    plan.troubles.flatMap((trouble) =>
      "port" in trouble ? [[`${trouble.port}#${trouble.nth}`, trouble.harm]] : [],
    ),
  );
  let healed = false;
  let harmed = 0;

  const note = (line: string): void =>
    void lines.push(`${((time.now() - startMs) / 1000).toFixed(3)} ${line}`);
  return {
    plan,
    draw,
    time,
    note,
    broken(law, what) {
      note(`BROKEN ${law}: ${what}`);
      violations.push({ law, what });
    },
    violations,
    history: () => lines,
    hash: () => createHash("sha256").update(lines.join("\n")).digest("hex"),
    harmOf(port) {
      const nth = (calls.get(port) ?? 0) + 1;
      calls.set(port, nth);
      const harm = healed ? undefined : harms.get(`${port}#${nth}`);
      if (harm === undefined) return { nth, harm: null };
      harmed += 1;
      note(`${port}#${nth}: ${harm}`);
      return { nth, harm };
    },
    harm() {
      harmed += 1;
    },
    heal() {
      healed = true;
      note("from here on nothing fails");
    },
    harmed: () => harmed,
    latencyMs(port, nth) {
      if (plan.calm) return 1;
      const chance = draw(`latency ${port} ${nth}`);
      if (chance < 0.6) return Math.floor(chance * 5);
      return chance < 0.95 ? Math.floor((chance - 0.6) * 80) : Math.floor((chance - 0.95) * 10_000);
    },
  };
}

/**
 * A call that is slow takes this long: enough to outlive renewals of leases, and sometimes a send's time
 * limit.
 */
export function slowMs(world: World, port: string, nth: number): number {
  return 2_000 + Math.floor(world.draw(`slow ${port} ${nth}`) * 40_000);
}
