// What a driver hands to the contract: a fresh store, seen through one or several handles, on a clock that
// the test moves.
import type { ConversationKey, SessionKey } from "@parley/protocol";
import type {
  Idle,
  Lease,
  NewDelivery,
  NewRow,
  DeliveryBatch,
  Release,
  Store,
  Turn,
  Want,
} from "../src/index.ts";
import type { TestClock } from "./clock.ts";

export interface OpenedStore {
  /** All on one store. Each verb of a case goes to the next one. */
  readonly handles: readonly Store[];
  readonly clock: TestClock;
  /** Closes the handles and removes what was stored. */
  close(): Promise<void>;
}

interface Bench {
  readonly store: Store;
  readonly clock: TestClock;
}

export interface StoreCase {
  readonly title: string;
  run(bench: Bench): Promise<void>;
}

/** A store whose every verb goes to the next handle: what one handle wrote, any other must know. */
export function inTurns(handles: readonly Store[]): Store {
  let calls = 0;
  const next = (): Store => handles[calls++ % handles.length] as Store;
  const ports = ["inbox", "turns", "outbox", "sessions", "cells", "events"] as const;
  const port = (name: (typeof ports)[number]): unknown =>
    new Proxy(
      {},
      {
        get:
          (_, verb) =>
          (...args: readonly unknown[]) =>
            callOn(next()[name], verb, args),
      },
    );
  return {
    ...(Object.fromEntries(ports.map((name) => [name, port(name)])) as unknown as Pick<
      Store,
      (typeof ports)[number]
    >),
    onReady(wake) {
      const stops = handles.map((handle) => handle.onReady(wake));
      return () => stops.forEach((stop) => stop());
    },
    troubled: () => next().troubled(),
    sweep: (limit) => next().sweep(limit),
    check: () => next().check(),
    scrub: async (judge, write) => next().scrub?.(judge, write) ?? { removed: -1, rewritten: -1 },
    close: async () => {
      for (const handle of handles) await handle.close();
    },
  };
}

function callOn(port: object, verb: string | symbol, args: readonly unknown[]): unknown {
  return (port as Record<string | symbol, (...given: readonly unknown[]) => unknown>)[verb]?.(...args);
}

export const lane = (name: string): SessionKey => `agent:main:telegram:dm:${name}` as SessionKey;
export const chat = (name: string): ConversationKey => `telegram:default:dm:${name}` as ConversationKey;
export const account = "telegram:default";

export const want: Want = { pool: "main", holder: "w1", leaseMs: 30_000, maxRows: 20 };
export const wantOut: Want = { ...want, pool: account };

export function row(id: string, change: Partial<NewRow> = {}): NewRow {
  return {
    id: `telegram:default:${id}`,
    pool: "main",
    lane: lane("a"),
    conversation: chat("a"),
    authority: "person",
    as: { kind: "work" },
    payload: `{"text":"${id}"}`,
    ...change,
  };
}

export function delivery(id: string, change: Partial<NewDelivery> = {}): NewDelivery {
  return { id, pool: account, lane: chat("a"), cause: "test", parts: [{ content: id }], ...change };
}

export function isIdle(taken: Lease | Idle): taken is Idle {
  return "idle" in taken;
}

export async function takeTurn(store: Store, change: Partial<Want> = {}): Promise<Turn> {
  const taken = await store.turns.take({ ...want, ...change });
  if (isIdle(taken)) throw new Error("there was no turn to take");
  return taken;
}

export async function takeDeliveryBatch(store: Store, change: Partial<Want> = {}): Promise<DeliveryBatch> {
  const taken = await store.outbox.take({ ...wantOut, ...change });
  if (isIdle(taken)) throw new Error("there was no delivery to take");
  return taken;
}

export const drained: Release = { afterMs: 0, reason: "drain", refund: true };
export const failedOnce: Release = { afterMs: 0, reason: "failed" };

export function ids(list: readonly { readonly id: string }[]): readonly string[] {
  return list.map(({ id }) => id.replace("telegram:default:", ""));
}
