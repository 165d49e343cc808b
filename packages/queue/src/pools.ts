// The lane runners of one process: one pool per class of turns, so that background work never delays a person
// (I15), and one per account for deliveries. Shutdown drains turns first, because they queue the last
// deliveries.
import { sleep, type Clock, type Ids, type Log } from "@parley/protocol";
import { backgroundPace, inTurn, type Pace } from "./background-pace.ts";
import { runLanes, type LaneRunner, type WorkEnd } from "./lane-runner.ts";
import type { LeaseHandle } from "./lease-handle.ts";
import type { WorkNotifier } from "./work-notifier.ts";
import type { DeliveryView, Outbox, DeliveryBatch, Store, Turn } from "@parley/store";
import { turnNames } from "./turn-names.ts";

export interface PoolsOptions {
  readonly store: Store;
  readonly onReady: WorkNotifier["onReady"];
  /** Unique to this process and boot; the store records it on leases. */
  readonly holder: string;
  /** Most turns at once, by class. */
  readonly concurrency: { readonly [pool in TurnPool]: number };
  readonly runTurn: (turn: Turn, lease: TurnLease) => Promise<WorkEnd>;
  readonly buryTurn: (turn: Turn, error: unknown) => Promise<void>;
  /** False for a process that runs no turns; default true. */
  readonly runsTurns?: boolean;
  /** Accounts (`<channel>:<account>`) that this process always delivers for, without a leader. */
  readonly accounts: readonly string[];
  /** More accounts to deliver for, which `serve` never removes. */
  readonly always?: readonly string[];
  readonly deliver: (account: string) => (batch: DeliveryBatch, lease: LeaseHandle) => Promise<WorkEnd>;
  /** See `BackgroundPaceOptions`. Default: nobody measures, and it counts as calm. */
  readonly busy?: (() => number) | undefined;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

/** The lease of a turn, which may let others go before it. */
export interface TurnLease extends LeaseHandle {
  /**
   * Lets people go first: resolves at once while no turn of another person runs, else when it is this turn's
   * time, a fraction of a second for each that waits before it, or when the signal aborts.
   */
  makeWay(signal: AbortSignal): Promise<void>;
}

export const turnPools = ["main", "cron", "subagent", "heartbeat"] as const;
type TurnPool = (typeof turnPools)[number];

/** Of the turns that people wait for. */
export const peoplesPool: TurnPool = "main";

export interface Pools {
  turnsRunning(): number;
  deliveriesRunning(): number;
  /** Spaces short background work that is no turn, such as looks at jobs, while people are served. */
  readonly pace: Pace;
  /**
   * Delivers for exactly these accounts from now on. For dropped ones no new work begins; sends under way
   * end.
   */
  serve(accounts: readonly string[]): void;
  /** Also delivers for this account, as its leader. `end` gives unsent deliveries back at once. */
  lead(account: string, term: () => number | undefined): { end(): Promise<void> };
  /**
   * Takes no new work. Resolves when running turns have ended or were given back, and the outbox had
   * `flushMs` to empty.
   */
  drain(budgets: { readonly turnsMs: number; readonly flushMs: number }): Promise<void>;
}

/** Renewed every third of this time. After a crash, other nodes can take the lanes this much later. */
const leaseMs = 30_000;
/** Longer than a platform takes to answer, so that most deliveries need no renewal. */
const deliveryLeaseMs = 60_000;
/** Most messages that one turn answers, so that a flood is answered in several turns. */
const rowsPerTurn = 200;
const deliveriesPerLease = 20;
/** Conversations of one account that are sent to at once. */
const conversationsPerAccount = 32;
/** Time for sends under way to end when the config drops their account. */
const leaveMs = 10_000;
const flushPollMs = 20;
/** Few milliseconds of work each; at the longest, a thousand of four at once still begin within a minute. */
const shortGapMs = { least: 25, most: 200 };
const flushLanes = 1_000;

export function startPools(options: PoolsOptions): Pools {
  const { store, holder, clock, ids, log } = options;
  const base = { holder, leaseMs, clock, ids, log, onReady: options.onReady };

  let ofPeople: LaneRunner | null = null;
  const making = {
    areServed: () => (ofPeople?.running() ?? 0) > 0,
    busy: options.busy ?? (() => 0),
    clock,
  };
  const pace = backgroundPace(making);
  /** People's turns that make way now: they are not those for whom others do. */
  let waitingOnes = 0;
  const stepPace = backgroundPace({
    ...making,
    areServed: () => (ofPeople?.running() ?? 0) > waitingOnes,
    gapMs: shortGapMs,
  });
  const makeWay = (pool: TurnPool) => async (signal: AbortSignal) => {
    const own = pool === peoplesPool ? 1 : 0;
    waitingOnes += own;
    try {
      await inTurn(stepPace, clock, signal);
    } finally {
      waitingOnes -= own;
    }
  };
  const turnRunners = (options.runsTurns === false ? [] : turnPools).map((pool) => {
    const runner = runLanes({
      ...base,
      lanes: store.turns,
      pool,
      // A getter, because a config reload may change the number.
      get concurrency() {
        return options.concurrency[pool];
      },
      pace: pool === peoplesPool ? undefined : pace,
      maxRows: rowsPerTurn,
      about: turnNames,
      work: (turn, handle) => options.runTurn(turn, { ...handle, makeWay: makeWay(pool) }),
      lost: store.turns.lived,
      bury: options.buryTurn,
    });
    if (pool === peoplesPool) ofPeople = runner;
    return runner;
  });
  const deliveryRunner = (account: string, term?: () => number | undefined): LaneRunner =>
    runLanes({
      ...base,
      term,
      lanes: store.outbox,
      leaseMs: deliveryLeaseMs,
      pool: account,
      concurrency: conversationsPerAccount,
      maxRows: deliveriesPerLease,
      about: ({ lane, deliveries }) => ({ lane, deliveries: deliveries.map(({ id }) => id) }),
      work: options.deliver(account),
      bury: (batch, error) => failBatch(store.outbox, batch, error),
    });
  const { always = [] } = options;
  const delivering = new Map(
    [...options.accounts, ...always].map((account) => [account, deliveryRunner(account)]),
  );
  /** Runners of dropped accounts that still finish their sends. */
  const leaving = new Set<Promise<void>>();
  const leading = new Map<string, LaneRunner>();
  const deliverers = (): readonly LaneRunner[] => [...delivering.values(), ...leading.values()];
  const running = (runners: readonly LaneRunner[]): number =>
    runners.reduce((sum, runner) => sum + runner.running(), 0);

  /**
   * Deliveries that are due or being sent, which a short wait may still get out. Later ones wait for the next
   * start.
   */
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
    pace: backgroundPace({ ...making, gapMs: shortGapMs }),
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
      // A store that is down shows nothing to wait for; what is left waits for the next start.
      const isLeft = (): Promise<boolean> => hasDueDeliveries().catch(() => false);
      while (clock.mono() < untilMono && (await isLeft())) await sleep(clock, flushPollMs);
      const flushing = deliverers().map((runner) => runner.drain(Math.max(0, untilMono - clock.mono())));
      await Promise.all([...flushing, ...leaving]);
    },
  };
}

/**
 * Fails the open parts of a delivery that crashes the deliverer, so that it cannot crash it again and the
 * lane goes on.
 */
async function failBatch(outbox: Outbox, batch: DeliveryBatch, error: unknown): Promise<void> {
  const head = await firstOpen(outbox, batch);
  if (head === undefined) return outbox.release(batch, { afterMs: 0, reason: "nothing to do" });
  const reason = `a bug in delivery: ${error instanceof Error ? error.message : String(error)}`;
  const open = head.parts.flatMap((part, index) =>
    part.state === "queued" || part.state === "sending" ? [index] : [],
  );
  await outbox.record(
    batch,
    open.map((part) => ({ delivery: head.id, part, to: "failed" as const, reason })),
  );
  await outbox.release(batch, { afterMs: 0, reason });
}

/**
 * The batch shows the state at its take. Parts sent since then need no failing, and the store would refuse
 * it.
 */
async function firstOpen(outbox: Outbox, { deliveries }: DeliveryBatch): Promise<DeliveryView | undefined> {
  for (const { id } of deliveries) {
    const [found] = await outbox.find({ id, limit: 1 });
    if (found?.done === false) return found;
  }
  return undefined;
}
