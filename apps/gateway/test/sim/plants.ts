// Planted bugs: each a wrapper around a port or a flaw of a driver, never a switch in the product. Each must
// be found; a law that finds none of them proves nothing.
import type { Clock, ConversationKey } from "@parley/protocol";
import type { Change, DeliveryView, Lease, NewDelivery, Row, Store, Turn } from "@parley/store";
import { leaderCell } from "@parley/cluster";
import type { DriverFlaws } from "./channels.ts";

export interface Plant {
  readonly name: string;
  /** A broken driver: stands between the store and everything else, over all lives of one simulation. */
  readonly store?: () => Wrap;
  /** A broken product: stands between the message path and its steps. */
  readonly port?: () => Wrap;
  readonly flaws?: DriverFlaws;
  /** A broken clock under leaderships. */
  readonly leaderClock?: (clock: Clock) => Clock;
}

type Wrap = (store: Store) => Store;

export const noPlant: Plant = { name: "none" };

/** The platform is told that events are safe while they still are not. */
const earlyAck: Plant = { name: "early-ack", flaws: { confirmsEarly: true } };

/** An event that the platform repeats is taken for a new one. */
const replay: Plant = {
  name: "replay",
  port: () => {
    const seen = new Set<string>();
    return (store) => ({
      ...store,
      inbox: {
        ...store.inbox,
        async accept(rows) {
          const renamed = rows.map(({ subject, ...row }) => {
            if (seen.has(row.id)) return { ...row, id: `${row.id}:again` };
            return { ...row, ...(subject === undefined ? {} : { subject }) };
          });
          const accepted = await store.inbox.accept(renamed);
          for (const row of rows) seen.add(row.id);
          return accepted;
        },
      },
    });
  },
};

/** Nobody looks at the fencing token: whoever writes last wins. */
const unfencedWrite: Plant = {
  name: "unfenced-write",
  store: () => {
    const current = new Map<string, Lease>();
    return (store) => {
      const renewed = <L extends Lease>(lease: L): L => ({ ...lease, ...current.get(lease.lane) });
      return {
        ...store,
        turns: {
          ...store.turns,
          async take(want) {
            const found = await store.turns.take(want);
            if (!("idle" in found))
              current.set(found.lane, { lane: found.lane, token: found.token, holder: found.holder });
            return found;
          },
          extend: (lease, leaseMs) => store.turns.extend(renewed(lease), leaseMs),
          checkpoint: (lease, at, what) => store.turns.checkpoint(renewed(lease), at, what),
          commit: (lease, turn, what) => store.turns.commit(renewed(lease), turn, what),
        },
      };
    };
  },
};

/** A send whose outcome is unknown is simply made again, as often as it takes. */
const retryAmbiguous: Plant = {
  name: "retry-ambiguous",
  store: () => (store) => {
    const forgetful = (delivery: DeliveryView): DeliveryView => ({
      ...delivery,
      parts: delivery.parts.map((part) => ({ ...part, flagged: false })),
    });
    return {
      ...store,
      outbox: {
        ...store.outbox,
        async take(want) {
          const found = await store.outbox.take(want);
          return "idle" in found ? found : { ...found, deliveries: found.deliveries.map(forgetful) };
        },
        record: (lease, changes, release) =>
          store.outbox.record(
            lease,
            changes.map((change): Change =>
              change.to === "sending" ? { ...change, idempotent: true } : change,
            ),
            release,
          ),
      },
    };
  },
};

/** Whoever finds nothing waits for a hint, and hints get lost. */
const lostWakeUp: Plant = {
  name: "lost-wake-up",
  port: () => (store) => ({
    ...store,
    onReady: () => () => {},
    turns: {
      ...store.turns,
      async take(want) {
        const found = await store.turns.take(want);
        return "idle" in found ? new Promise(() => {}) : found;
      },
    },
  }),
};

/** Replies go to wherever the session was last heard from. */
const lastRoute: Plant = {
  name: "last-route",
  port: () => {
    const latest = new Map<string, { readonly conversation: ConversationKey; readonly pool: string }>();
    return (store) => ({
      ...store,
      inbox: {
        ...store.inbox,
        accept(rows) {
          for (const { lane, conversation } of rows)
            latest.set(lane, { conversation, pool: conversation.split(":", 2).join(":") });
          return store.inbox.accept(rows);
        },
      },
      turns: {
        ...store.turns,
        commit(lease, turn, what) {
          const to = latest.get(lease.lane);
          const deliveries = (what.deliveries ?? []).map((delivery): NewDelivery =>
            to === undefined ? delivery : { ...delivery, lane: to.conversation, pool: to.pool },
          );
          return store.turns.commit(lease, turn, { ...what, deliveries });
        },
      },
    });
  },
};

/** A turn that is resumed takes along what came meanwhile, without claiming it. */
const grownBatch: Plant = {
  name: "grown-batch",
  port: () => (store) => ({
    ...store,
    turns: {
      ...store.turns,
      async take(want) {
        const found = await store.turns.take(want);
        if ("idle" in found || found.attempt === 1) return found;
        const waiting = await store.inbox.find({ lane: found.lane as never, state: "waiting", limit: 10 });
        const more: readonly Row[] = waiting.filter(
          (row) => row.conversation === found.conversation && row.authority === found.authority,
        );
        return { ...found, rows: [...found.rows, ...more.toReversed()] };
      },
    },
  }),
};

/** Rows that joined a running turn are claimed, but where they joined is not kept. */
const absorbWithoutStep: Plant = {
  name: "absorb-without-step",
  store: () => (store) => ({
    ...store,
    turns: {
      ...store.turns,
      async take(want) {
        const found = await store.turns.take(want);
        if ("idle" in found) return found;
        return {
          ...found,
          log: found.log.map((step) => (step.kind === "absorbed" ? { ...step, body: "[]" } : step)),
        } satisfies Turn;
      },
    },
  }),
};

/** The mark of a stop is lost on the way to the next holder. */
const stoppedResurrected: Plant = {
  name: "stopped-resurrected",
  port: () => (store) => ({
    ...store,
    turns: {
      ...store.turns,
      async take(want) {
        const found = await store.turns.take(want);
        return "idle" in found ? found : { ...found, stop: null };
      },
    },
  }),
};

/** After a gap a new session begins, and nobody looks what was said in it. */
const skippedHistory: Plant = { name: "skipped-history", flaws: { skipsHistory: true } };

/** A repeat on Discord has no nonce, and nobody looks whether the message is there already. */
const blindRepeat: Plant = { name: "blind-repeat", flaws: { sendsBlindly: true } };

export const plants: readonly Plant[] = [
  earlyAck,
  replay,
  unfencedWrite,
  retryAmbiguous,
  lostWakeUp,
  lastRoute,
  grownBatch,
  absorbWithoutStep,
  stoppedResurrected,
  skippedHistory,
  blindRepeat,
];

/** A leader that no clock tells that its time is over. */
const leaderForEver: Plant = {
  name: "leader-for-ever",
  leaderClock: (clock) => ({ ...clock, mono: () => 0 }),
};

/**
 * Nobody looks at the term: whoever holds a conversation goes on writing for an account that another one
 * leads.
 */
const unfencedTerm: Plant = {
  name: "unfenced-term",
  store: () => {
    const terms = new Map<string, number>();
    const current = new Map<string, Lease>();
    return (store) => {
      const termOf = (pool: string): { readonly term?: number } => {
        const term = terms.get(pool);
        return term === undefined ? {} : { term };
      };
      const renewed = <L extends Lease>(lease: L): L => ({
        ...lease,
        ...current.get(lease.lane),
        ...termOf(lease.lane.split(":", 2).join(":")),
      });
      return {
        ...store,
        cells: {
          ...store.cells,
          async put(key, value, how) {
            const cell = await store.cells.put(key, value, how);
            if (cell !== null && key.startsWith(leaderCell("")))
              terms.set(key.slice(leaderCell("").length), cell.version);
            return cell;
          },
        },
        outbox: {
          ...store.outbox,
          async take(want) {
            const found = await store.outbox.take({ ...want, ...termOf(want.pool) });
            if ("idle" in found) return found;
            const { lane, token, holder } = found;
            current.set(lane, { lane, token, holder });
            return { ...found, ...(want.term === undefined ? {} : { term: want.term }) };
          },
          extend: (lease, leaseMs) => store.outbox.extend(renewed(lease), leaseMs),
          record: (lease, changes, release) => store.outbox.record(renewed(lease), changes, release),
          release: (lease, how) => store.outbox.release(renewed(lease), how),
        },
      };
    };
  },
};

/** Those that only several nodes can show. */
export const plantsOfNodes: readonly Plant[] = [leaderForEver, unfencedTerm];

/** A suspect is tried at once: nobody looks whether the process dies without it. */
const unwatched: Plant = {
  name: "unwatched-suspect",
  port: () => (store) => ({
    ...store,
    cells: {
      ...store.cells,
      put: (key, value, how) =>
        store.cells.put(
          key,
          key === "suspects:trial" ? value.replace(/"sinceMs":\d+/, '"sinceMs":0') : value,
          how,
        ),
    },
  }),
};

/** A suspect goes on with all that was taken with it. */
const unsplit: Plant = {
  name: "unsplit-suspect",
  port: () => {
    const taken = new Map<string, Turn>();
    return (store) => ({
      ...store,
      turns: {
        ...store.turns,
        async take(want) {
          const found = await store.turns.take(want);
          if (!("idle" in found)) taken.set(found.id, found);
          return found;
        },
        split: async (lease) => taken.get((lease as Turn).id) ?? store.turns.split(lease),
      },
    });
  },
};

/** Those that only a process which dies again and again can show. */
export const plantsOfDeaths: readonly Plant[] = [unwatched, unsplit];
