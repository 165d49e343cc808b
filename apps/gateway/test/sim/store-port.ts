// The real store behind steps. Calls of one beat share one transaction, as they do in the product; every such
// batch may be late, fail before or after its commit, or be the last thing that its process did. Nothing of a
// dead life ever reaches the store.
import { Fault } from "@parley/protocol";
import type { Idle, Store, Want } from "@parley/store";
import type { Life } from "./life.ts";
import { slowMs, type World } from "./world.ts";

interface Call {
  readonly port: string;
  readonly twice: boolean;
  /** The pool of a take. */
  readonly pool: string | null;
  readonly work: () => Promise<unknown>;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

/** These are not repeatable by contract. */
const once: ReadonlySet<string> = new Set(["turns.take", "outbox.take", "inbox.stop", "cells.put"]);

/** The way to a store that others use too. `deaf`: calls arrive, answers do not. */
export type Line = "up" | "cut off" | "deaf";

export function storePort(world: World, life: Life, store: Store, line: () => Line = () => "up"): Store {
  let batch: { readonly beat: number; readonly calls: Call[]; harm: string | null } | null = null;
  /**
   * Grows with everything but a take that found nothing: such a take need not be repeated while nothing
   * happened.
   */
  let changes = 0;
  const idle = new Map<string, { readonly changes: number; readonly answer: Idle }>();

  function call<T>(port: string, work: () => Promise<T>, pool: string | null = null): Promise<T> {
    return new Promise((resolve, reject) => {
      if (!life.alive) return;
      const { nth, harm } = world.harmOf(port);
      const waitMs = harm === "slow" ? slowMs(world, port, nth) : world.latencyMs(port, nth);
      const one: Call = {
        port,
        twice: harm === "twice" && !once.has(port),
        pool,
        work,
        resolve: resolve as (value: never) => void,
        reject,
      };
      if (batch === null || batch.beat !== world.time.beat()) {
        const fresh = { beat: world.time.beat(), calls: [one], harm: harm as string | null };
        batch = fresh;
        world.time.after(waitMs, () => commit(fresh.calls, fresh.harm), life);
      } else {
        batch.calls.push(one);
        batch.harm ??= harm;
      }
    });
  }

  async function commit(calls: readonly Call[], harm: string | null): Promise<void> {
    const names = calls.map((each) => each.port).join("+");
    if (harm === "crash before") return life.die(`before ${names}`);
    if (harm === "fail before") return refuse(calls, new Fault("unavailable", "simulated: the disk is full"));
    const way = line();
    if (way === "cut off") return refuse(calls, new Fault("unavailable", "simulated: the store is away"));
    // All are asked for in one turn of the event loop, so that they share one commit.
    const answers = calls.map((each) => {
      const answer = each.work();
      return each.twice ? answer.then(each.work) : answer;
    });
    const settled = await Promise.allSettled(answers);
    const found = settled.map((answer) =>
      answer.status === "fulfilled" && isIdle(answer.value) ? answer.value : null,
    );
    if (found.includes(null)) changes += 1;
    for (const [index, { port, pool }] of calls.entries()) {
      const answer = found[index];
      if (pool !== null && answer !== undefined && answer !== null)
        idle.set(`${port} ${pool}`, { changes, answer });
    }
    world.note(
      `${names} ${settled.map((answer) => (answer.status === "fulfilled" ? "ok" : String(answer.reason.message))).join(", ")}`,
    );
    if (harm === "crash after") return life.die(`after ${names}`);
    if (harm === "fail after" || way === "deaf")
      return refuse(calls, new Fault("ambiguous", "simulated: the answer was lost"));
    if (!life.alive) return;
    for (const [index, answer] of settled.entries()) {
      if (answer.status === "fulfilled") calls[index]?.resolve(answer.value as never);
      else calls[index]?.reject(answer.reason);
    }
  }

  const refuse = (calls: readonly Call[], fault: Fault): void => {
    for (const each of calls) each.reject(fault);
  };

  /** Every verb of a port as a call. */
  const behind = <P extends object>(name: string, port: P): P =>
    Object.fromEntries(
      Object.entries(port).map(([verb, run]) => [
        verb,
        (...args: readonly unknown[]) => call(`${name}.${verb}`, () => run(...args)),
      ]),
    ) as P;

  /**
   * A take that found nothing finds nothing again until something happens or its time comes: answered without
   * asking.
   */
  const remembering = <P extends { take(want: Want): Promise<unknown> }>(name: string, port: P): P => ({
    ...behind(name, port),
    take(want: Want) {
      const known = idle.get(`${name}.take ${want.pool}`);
      const nextAtMs = known?.answer.nextAtMs ?? null;
      if (known?.changes !== changes || (nextAtMs !== null && nextAtMs <= world.time.now())) {
        return call(`${name}.take`, () => port.take(want), want.pool);
      }
      return new Promise((resolve) => world.time.after(1, () => resolve(known.answer), life));
    },
  });

  // What others did to the store is a change as well.
  life.onDeath(store.onReady(() => void (changes += 1)));

  return {
    ...store,
    inbox: behind("inbox", store.inbox),
    turns: remembering("turns", store.turns),
    outbox: remembering("outbox", store.outbox),
    sessions: behind("sessions", store.sessions),
    cells: behind("cells", store.cells),
    events: behind("events", store.events),
    onReady(wake) {
      const stop = store.onReady((pool) => {
        const { nth, harm } = world.harmOf("hint");
        if (harm === "lost" || !life.alive || line() !== "up") return;
        world.time.after(harm === "slow" ? 500 : world.latencyMs("hint", nth), () => wake(pool), life);
      });
      life.onDeath(stop);
      return stop;
    },
    sweep: (limit) => call("sweep", () => store.sweep(limit)),
    check: () => call("check", () => store.check()),
    close: async () => {},
  };
}

function isIdle(answer: unknown): answer is Idle {
  return typeof answer === "object" && answer !== null && "idle" in answer;
}
