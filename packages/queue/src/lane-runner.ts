// Runs the lanes of one pool: takes what has been runnable longest, at most `concurrency` at once, and is the only one who tries work
// again. Keeps I3 (one holder, renewed or aborted) and I15 (a pool of its own for each class of work).
import {
  Fault,
  isFault,
  sleep,
  type Clock,
  type FaultCode,
  type Ids,
  type Log,
  type LogFields,
  type Timer,
} from "@parley/protocol";
import type { Idle, Lanes, Lease, Release } from "@parley/store";
import { backoffMs, type Backoff } from "./backoff.ts";
import { holdLease, type LeaseHandle, type HeldLease } from "./lease-handle.ts";
import type { WorkNotifier } from "./work-notifier.ts";

/** What became of a lease: `settled` when the store has freed the lane already (commit, park), else how to give it back. */
export type WorkEnd = { readonly settled: true } | Release;

export interface LaneRunnerOptions<L extends Lease> {
  readonly lanes: Lanes<L>;
  readonly pool: string;
  readonly holder: string;
  readonly concurrency: number;
  readonly leaseMs: number;
  readonly maxRows: number;
  /** Leadership term of the pool, where leadership applies. */
  readonly term?: () => number | undefined;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** What names the work in a line of the log; default: its lane. */
  readonly about?: (lease: L) => LogFields;
  /** Hints that work may be ready; the runner answers whether it looks now. */
  readonly onReady: WorkNotifier["onReady"];
  readonly work: (lease: L, held: LeaseHandle) => Promise<WorkEnd>;
  /** The lease was lost, and this process lives. */
  readonly lost?: (lease: L) => Promise<void>;
  /** Ends work for good that threw what is no Fault, which is a bug, or a Fault that no repeat can heal. */
  readonly bury: (lease: L, error: unknown) => Promise<void>;
}

export interface LaneRunner {
  /** Leases held now. */
  running(): number;
  /** Looks for work now. False when it has no slot for more. */
  wake(): boolean;
  /**
   * Stops taking; resolves when the running work has ended by itself or, after `budgetMs`, was aborted and given back. Work that ignores
   * its abort is left behind after ten more seconds: its lease ends by itself.
   */
  drain(budgetMs: number): Promise<void>;
}

/** A hint may be lost, so the runner looks by itself this often. */
const pollMs = 2_000;
/** Takes in flight at once: a few, so that they share a commit; not one per slot, which would be a stampede on every hint. */
const parallelTakes = 4;
/** What these refuse now they refuse for ever. */
const hopeless: ReadonlySet<FaultCode> = new Set(["invalid", "unsupported", "denied", "missing"]);
const releaseAgainMs = 500;
/** The agent loop abandons what ignores its abort after five seconds; this is that and some room. */
const abandonAfterMs = 10_000;
const retryBackoff: Backoff = { firstMs: 500, mostMs: 60_000, jitter: 0.2 };

export function runLanes<L extends Lease>(options: LaneRunnerOptions<L>): LaneRunner {
  const { lanes, pool, clock, ids, log } = options;
  const about = options.about ?? (({ lane }: L): LogFields => ({ lane }));
  const held = new Set<HeldLease>();
  /** How often in a row a lane's work ended in a passing failure; forgotten on success. */
  const failures = new Map<string, number>();
  let taking = 0;
  let stopped = false;
  let hintedWhileTaking = false;
  /** A store that is away is told once, not at every look. */
  let isAway = false;
  let idleTimer: Timer | null = null;
  let emptied: (() => void) | null = null;

  const stopListening = options.onReady((ready) => ready === pool && wake());

  function wake(): boolean {
    idleTimer?.cancel();
    idleTimer = null;
    if (taking > 0) hintedWhileTaking = true;
    const looks = !stopped && held.size + taking < options.concurrency;
    pump();
    return looks;
  }

  function pump(): void {
    if (stopped || taking >= parallelTakes || held.size + taking >= options.concurrency) return;
    taking += 1;
    void takeOne().then((found) => {
      taking -= 1;
      if (found || hintedWhileTaking) {
        // The take that begins now is younger than the hint, so it is enough; a hint that lived on would keep takes going for ever.
        hintedWhileTaking = false;
        pump();
        if (found) pump();
      }
      settleIfEmpty();
    });
  }

  async function takeOne(): Promise<boolean> {
    let lease: L | Idle;
    try {
      const term = options.term?.();
      const { holder, leaseMs, maxRows } = options;
      lease = await lanes.take({ pool, holder, leaseMs, maxRows, ...(term === undefined ? {} : { term }) });
      isAway = false;
    } catch (error) {
      log[isAway ? "debug" : "warn"]({ pool, error }, "could not take work, trying again every two seconds");
      isAway = true;
      sleepUntil(clock.now() + pollMs);
      return false;
    }
    if ("idle" in lease) {
      sleepUntil(lease.nextAtMs);
      return false;
    }
    void hold(lease);
    return true;
  }

  function sleepUntil(atMs: number | null): void {
    if (stopped) return;
    idleTimer?.cancel();
    const waitMs = atMs === null ? pollMs : Math.min(pollMs, Math.max(0, atMs - clock.now()));
    idleTimer = clock.after(waitMs, pump);
  }

  async function hold(lease: L): Promise<void> {
    const hand = holdLease({ lanes, lease, leaseMs: options.leaseMs, clock });
    held.add(hand);
    try {
      const end = await options.work(lease, hand);
      failures.delete(lease.lane);
      if (!("settled" in end)) await release(lease, hand, end);
    } catch (error) {
      await failed(lease, hand, error);
    } finally {
      hand.end();
      held.delete(hand);
      pump();
      settleIfEmpty();
    }
  }

  async function failed(lease: L, hand: HeldLease, error: unknown): Promise<void> {
    if (isFault(error, "conflict")) {
      log.info(
        { ...about(lease), token: lease.token, reason: error.message },
        "lease lost, leaving the lane to its next holder",
      );
      await options.lost?.(lease).catch((cause: unknown) => {
        log.warn({ ...about(lease), error: cause }, "could not tell that nobody died with the lease");
      });
      return;
    }
    if (!isFault(error) || hopeless.has(error.code)) {
      log.error({ ...about(lease), error }, "work can never succeed, burying it");
      await options.bury(lease, error).catch(async (cause: unknown) => {
        log.error({ ...about(lease), error: cause }, "could not bury, trying again later");
        // A lease that was held long for a tool would keep the lane as long.
        await release(lease, hand, {
          afterMs: retryBackoff.mostMs,
          reason: "it could not be buried",
          refund: true,
        });
      });
      return;
    }
    const count = error.code === "aborted" ? 0 : (failures.get(lease.lane) ?? 0) + 1;
    if (count > 0) remember(lease.lane, count);
    const afterMs =
      count === 0 ? 0 : Math.max(error.retryAfterMs ?? 0, backoffMs(retryBackoff, count, ids.chance()));
    log.warn(
      { ...about(lease), code: error.code, reason: error.message, afterMs },
      "work given back, to be tried again",
    );
    await release(lease, hand, { afterMs, reason: error.message, refund: true });
  }

  function remember(lane: string, count: number): void {
    // Bounded (I9): forgetting the oldest only shortens its next wait.
    if (failures.size >= 10_000 && !failures.has(lane)) failures.delete(failures.keys().next().value ?? "");
    failures.set(lane, count);
  }

  async function release(lease: L, hand: HeldLease, how: Release): Promise<void> {
    for (;;) {
      try {
        return await lanes.release(lease, how);
      } catch (error) {
        // A full disk passes, often long before the lease would.
        const passes = isFault(error, "unavailable") && !stopped && !isFault(hand.signal.reason, "conflict");
        if (!passes)
          return log.info(
            { ...about(lease), error },
            "could not give the lane back, it frees itself when the lease ends",
          );
        await sleep(clock, releaseAgainMs);
      }
    }
  }

  function settleIfEmpty(): void {
    if (stopped && held.size === 0 && taking === 0) emptied?.();
  }

  pump();
  return {
    running: () => held.size,
    wake,
    async drain(budgetMs) {
      stopped = true;
      stopListening();
      idleTimer?.cancel();
      if (held.size === 0 && taking === 0) return;
      const empty = new Promise<void>((resolve) => {
        emptied = resolve;
      });
      const budget = clock.after(budgetMs, () => {
        for (const hand of held) hand.abort(new Fault("aborted", "the daemon is stopping"));
      });
      const timeouts = clock.after(budgetMs + abandonAfterMs, () => {
        log.error({ pool, left: held.size }, "work ignored its abort and is left behind");
        emptied?.();
      });
      await empty;
      budget.cancel();
      timeouts.cancel();
    },
  };
}
