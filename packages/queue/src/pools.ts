// The lane runners of one process: a pool for each class of turns, so that background work never delays a person (I15), and one for each
// account's deliveries. Shutdown drains turns first, because they queue the last deliveries.
import { sleep, type Clock, type Ids, type Log } from "@parley/protocol";
import { runLanes, type LaneRunner, type WorkEnd } from "./lane-runner.ts";
import type { LeaseHandle } from "./lease-handle.ts";
import type { WorkNotifier } from "./work-notifier.ts";
import type { DeliveryView, Outbox, DeliveryBatch, Store, Turn } from "@parley/store";
import { turnNames } from "./turn-names.ts";

export interface PoolsOptions {
  readonly store: Store;
  readonly onReady: WorkNotifier["onReady"];
  /** Unique to this process and boot. */
  readonly holder: string;
  /** Turns that may run at once, by class. */
  readonly concurrency: { readonly [pool in TurnPool]: number };
  readonly runTurn: (turn: Turn, held: LeaseHandle) => Promise<WorkEnd>;
  readonly buryTurn: (turn: Turn, error: unknown) => Promise<void>;
  /** Whether this process runs turns at all; default true. */
  readonly runsTurns?: boolean;
  /** `<channel>:<account>` of each account that this process delivers for, whoever else does. */
  readonly accounts: readonly string[];
  /** Delivered for besides, whatever the config says. */
  readonly always?: readonly string[];
  readonly deliver: (account: string) => (parcel: DeliveryBatch, held: LeaseHandle) => Promise<WorkEnd>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

export const turnPools = ["main", "cron", "subagent", "heartbeat"] as const;
export type TurnPool = (typeof turnPools)[number];

export interface Pools {
  turnsRunning(): number;
  deliveriesRunning(): number;
  /** From now on these accounts are delivered for; for the others no new work is begun, what is being sent ends. */
  serve(accounts: readonly string[]): void;
  /** Delivers for one more account, as its leader. Ending it gives back at once what is not sent. */
  lead(account: string, term: () => number | undefined): { end(): Promise<void> };
  /** Takes no new work; ends when running turns ended or were given back, and the outbox had `flushMs` to empty itself. */
  drain(budgets: { readonly turnsMs: number; readonly flushMs: number }): Promise<void>;
}

/** A lease is renewed every third of this; after a crash of another node its lanes are free this much later. */
const leaseMs = 30_000;
/** Outlives a platform's answer, so that most deliveries need no renewal. */
const deliveryLeaseMs = 60_000;
/** A flood is answered in turns of at most this many messages. */
const rowsPerTurn = 200;
const deliveriesPerLease = 20;
/** Conversations of one account that are sent to at once. */
const conversationsPerAccount = 32;
/** What an account that the config lost is just sending has this long to end. */
const leaveMs = 10_000;
const flushPollMs = 20;
const flushLanes = 1_000;

export function startPools(options: PoolsOptions): Pools {
  const { store, holder, clock, ids, log } = options;
  const base = { holder, leaseMs, clock, ids, log, onReady: options.onReady };

  const turnRunners = (options.runsTurns === false ? [] : turnPools).map((pool) =>
    runLanes({
      ...base,
      lanes: store.turns,
      pool,
      // Read anew at each look: the config may change it.
      get concurrency() {
        return options.concurrency[pool];
      },
      maxRows: rowsPerTurn,
      about: turnNames,
      work: options.runTurn,
      lost: store.turns.lived,
      bury: options.buryTurn,
    }),
  );
  const deliveryRunner = (account: string, term?: () => number | undefined): LaneRunner =>
    runLanes({
      ...base,
      ...(term === undefined ? {} : { term }),
      lanes: store.outbox,
      leaseMs: deliveryLeaseMs,
      pool: account,
      concurrency: conversationsPerAccount,
      maxRows: deliveriesPerLease,
      about: ({ lane, deliveries }) => ({ lane, deliveries: deliveries.map(({ id }) => id) }),
      work: options.deliver(account),
      bury: (parcel, error) => failParcel(store.outbox, parcel, error),
    });
  const { always = [] } = options;
  const delivering = new Map(
    [...options.accounts, ...always].map((account) => [account, deliveryRunner(account)]),
  );
  /** Of accounts that are gone: they end what they are sending. */
  const leaving = new Set<Promise<void>>();
  const leading = new Map<string, LaneRunner>();
  const deliverers = (): readonly LaneRunner[] => [...delivering.values(), ...leading.values()];
  const running = (runners: readonly LaneRunner[]): number =>
    runners.reduce((sum, runner) => sum + runner.running(), 0);

  /** Due now or being sent: what a moment's patience may still bring out. What waits for later waits for the next start. */
  async function hasDueDeliveries(): Promise<boolean> {
    const lanes = (
      await Promise.all(
        [...delivering.keys(), ...leading.keys()].map((account) => store.outbox.list(account, flushLanes)),
      )
    ).flat();
    return lanes.some(
      (lane) => lane.holder !== null || (lane.waiting > 0 && lane.atMs !== null && lane.atMs <= clock.now()),
    );
  }

  return {
    turnsRunning: () => running(turnRunners),
    deliveriesRunning: () => running(deliverers()),
    serve(accounts) {
      for (const [account, runner] of delivering) {
        if (accounts.includes(account) || always.includes(account)) continue;
        delivering.delete(account);
        const left = runner.drain(leaveMs).finally(() => leaving.delete(left));
        leaving.add(left);
      }
      for (const account of accounts)
        if (!delivering.has(account)) delivering.set(account, deliveryRunner(account));
    },
    lead(account, term) {
      const runner = deliveryRunner(account, term);
      leading.set(account, runner);
      return {
        async end() {
          if (leading.get(account) === runner) leading.delete(account);
          await runner.drain(0);
        },
      };
    },
    async drain({ turnsMs, flushMs }) {
      await Promise.all(turnRunners.map((runner) => runner.drain(turnsMs)));
      const untilMono = clock.mono() + flushMs;
      // A store that is away shows nothing to wait for: what is left waits for the next start.
      const isLeft = (): Promise<boolean> => hasDueDeliveries().catch(() => false);
      while (clock.mono() < untilMono && (await isLeft())) await sleep(clock, flushPollMs);
      const flushing = deliverers().map((runner) => runner.drain(Math.max(0, untilMono - clock.mono())));
      await Promise.all([...flushing, ...leaving]);
    },
  };
}

/** A delivery that breaks the deliverer must not break it again: its open parts fail, the lane goes on. */
async function failParcel(outbox: Outbox, parcel: DeliveryBatch, error: unknown): Promise<void> {
  const head = await firstOpen(outbox, parcel);
  if (head === undefined) return outbox.release(parcel, { afterMs: 0, reason: "nothing to do" });
  const reason = `a bug in delivery: ${error instanceof Error ? error.message : String(error)}`;
  const open = head.parts.flatMap((part, index) =>
    part.state === "queued" || part.state === "sending" ? [index] : [],
  );
  await outbox.record(
    parcel,
    open.map((part) => ({ delivery: head.id, part, to: "failed" as const, reason })),
  );
  await outbox.release(parcel, { afterMs: 0, reason });
}

/** The parcel is as it was when it was taken; what was sent out of it since needs no failing, and would refuse it. */
async function firstOpen(outbox: Outbox, { deliveries }: DeliveryBatch): Promise<DeliveryView | undefined> {
  for (const { id } of deliveries) {
    const [found] = await outbox.find({ id, limit: 1 });
    if (found?.done === false) return found;
  }
  return undefined;
}
