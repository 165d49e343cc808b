// Runs the lanes of one pool: leases the lane that has been runnable longest, works on at most `concurrency`
// lanes at once, and is the only place that repeats failed work. Keeps I3 (one holder, who renews its lease
// or aborts) and I15 (a pool of its own for each class of work).
// Next: packages/runner/src/run-turn.ts.
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
import type { Pace } from "./background-pace.ts";
import { backoffMs, type Backoff } from "./backoff.ts";
import { holdLease, type LeaseHandle, type HeldLease } from "./lease-handle.ts";
import type { WorkNotifier } from "./work-notifier.ts";

/**
 * How work on a lease ended: `settled` when the store has already freed the lane (commit, park), otherwise
 * how to give the lane back.
 */
export type WorkEnd = { readonly settled: true } | Release;

export interface LaneRunnerOptions<L extends Lease> {
  readonly lanes: Lanes<L>;
  readonly pool: string;
  readonly holder: string;
  /** Most lanes at work at once. Read at each take, because a reload may change it. */
  readonly concurrency: number;
  readonly leaseMs: number;
  /** Most rows, or deliveries, of a lane that one lease takes. */
  readonly maxRows: number;
  /** Spaces the starts of pools that make way for others. */
  readonly pace?: Pace | undefined;
  /** Returns the term of the pool's leader, for pools that have one. */
  readonly term?: (() => number | undefined) | undefined;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** Fields that identify the work in log lines; default: its lane. */
  readonly about?: (lease: L) => LogFields;
  /** Registers a listener for hints that work may be ready; the listener answers whether it looks now. */
  readonly onReady: WorkNotifier["onReady"];
  readonly work: (lease: L, handle: LeaseHandle) => Promise<WorkEnd>;
  /** Called when the lease was lost while this process lives, so that no death is counted. */
  readonly lost?: (lease: L) => Promise<void>;
  /** Ends work for good when it threw a Fault that no repeat can heal, or anything else, which is a bug. */
  readonly bury: (lease: L, error: unknown) => Promise<void>;
}

export interface LaneRunner {
  /** Number of leases held now. */
  running(): number;
  /** Looks for work now. Returns false when there is no free slot. */
  wake(): boolean;
  /**
   * Stops taking work. Resolves when the running work has ended or, after `budgetMs`, was aborted and given
   * back. Work that ignores its abort is abandoned ten seconds later; its lease then runs out.
   */
  drain(budgetMs: number): Promise<void>;
}

/** Hints may get lost, so the runner polls this often. */
const pollMs = 2_000;
/**
 * Takes in flight at once: a few, so that they share a commit. One per slot would be a stampede on every
 * hint.
 */
const parallelTakes = 4;
/** Faults that no repeat can heal. */
const hopeless: ReadonlySet<FaultCode> = new Set(["invalid", "unsupported", "denied", "missing"]);
const releaseAgainMs = 500;
/** The agent loop abandons a tool that ignores its abort after five seconds; this adds some room. */
const abandonAfterMs = 10_000;
const retryBackoff: Backoff = { firstMs: 500, mostMs: 60_000, jitter: 0.2 };

export function runLanes<L extends Lease>(options: LaneRunnerOptions<L>): LaneRunner {
  const { lanes, pool, clock, ids, log } = options;
  const about = options.about ?? (({ lane }: L): LogFields => ({ lane }));
  const handles = new Set<HeldLease>();
  /** Failures in a row that may pass, per lane; a success clears the count. */
  const failures = new Map<string, number>();
  let taking = 0;
  let stopped = false;
  let hintedWhileTaking = false;
  /** Set while the store is down, so that the log says it once and not at every poll. */
  let isAway = false;
  let idleTimer: Timer | null = null;
  let emptied: (() => void) | null = null;
  let pacing: Timer | null = null;

  const stopListening = options.onReady((ready) => ready === pool && wake());

  function wake(): boolean {
    idleTimer?.cancel();
    idleTimer = null;
    if (taking > 0) hintedWhileTaking = true;
    const looks = !stopped && handles.size + taking < options.concurrency;
    pump();
    return looks;
  }

  function pump(): void {
    if (stopped || taking >= parallelTakes || handles.size + taking >= options.concurrency) return;
    if (isPaced()) return;
    taking += 1;
    void takeOne().then((found) => {
      taking -= 1;
      if (found || hintedWhileTaking) {
        // The take that begins now is younger than the hint, so it answers the hint. Keeping the hint would
        // repeat takes for ever.
        hintedWhileTaking = false;
        pump();
        if (found) pump();
      }
      settleIfEmpty();
    });
  }

  /** True when the next start has to wait; it is then tried again in time. */
  function isPaced(): boolean {
    const leftMs = options.pace?.leftMs() ?? null;
    if (leftMs === null) return false;
    // A take that is under way looks again when it is done.
    if (leftMs > 0 && taking === 0)
      pacing ??= clock.after(leftMs, () => {
        pacing = null;
        pump();
      });
    return leftMs > 0 || taking > 0;
  }

  async function takeOne(): Promise<boolean> {
    let lease: L | Idle;
    try {
      const term = options.term?.();
      const { holder, leaseMs, maxRows } = options;
      lease = await lanes.take({ pool, holder, leaseMs, maxRows, term });
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
    options.pace?.began();
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
    const handle = holdLease({ lanes, lease, leaseMs: options.leaseMs, clock });
    handles.add(handle);
    try {
      const end = await options.work(lease, handle);
      failures.delete(lease.lane);
      if (!("settled" in end)) await release(lease, handle, end);
    } catch (error) {
      await failed(lease, handle, error);
    } finally {
      handle.end();
      handles.delete(handle);
      pump();
      settleIfEmpty();
    }
  }

  async function failed(lease: L, handle: HeldLease, error: unknown): Promise<void> {
    if (isFault(error, "conflict")) {
      log.info(
        { ...about(lease), token: lease.token, reason: error.message },
        "lease lost or a write too late, leaving the lane to its next holder",
      );
      await options.lost?.(lease).catch((cause: unknown) => {
        log.warn({ ...about(lease), error: cause }, "could not tell that nobody died with the lease");
      });
      // A write that was too late for something else than the lease leaves the lease here, perhaps as long as
      // a tool may run; for a lost one the store refuses this.
      const afterMs = backoffMs(retryBackoff, 1, ids.chance());
      await release(lease, handle, { afterMs, reason: error.message, refund: true });
      return;
    }
    if (!isFault(error) || hopeless.has(error.code)) {
      log.error({ ...about(lease), error }, "work can never succeed, burying it");
      await options.bury(lease, error).catch(async (cause: unknown) => {
        log.error({ ...about(lease), error: cause }, "could not bury, trying again later");
        // A tool may have extended the lease for long; releasing frees the lane sooner.
        await release(lease, handle, {
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
    await release(lease, handle, { afterMs, reason: error.message, refund: true });
  }

  function remember(lane: string, count: number): void {
    // Bounded (I9). Forgetting the oldest count only shortens that lane's next wait.
    if (failures.size >= 10_000 && !failures.has(lane)) failures.delete(failures.keys().next().value ?? "");
    failures.set(lane, count);
  }

  async function release(lease: L, handle: HeldLease, how: Release): Promise<void> {
    for (;;) {
      try {
        return await lanes.release(lease, how);
      } catch (error) {
        // A full disk often passes long before the lease ends, so the release is tried again.
        const passes =
          isFault(error, "unavailable") && !stopped && !isFault(handle.signal.reason, "conflict");
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
    if (stopped && handles.size === 0 && taking === 0) emptied?.();
  }

  pump();
  return {
    running: () => handles.size,
    wake,
    async drain(budgetMs) {
      stopped = true;
      stopListening();
      idleTimer?.cancel();
      pacing?.cancel();
      if (handles.size === 0 && taking === 0) return;
      const empty = new Promise<void>((resolve) => {
        emptied = resolve;
      });
      const budget = clock.after(budgetMs, () => {
        for (const handle of handles) handle.abort(new Fault("aborted", "the daemon is stopping"));
      });
      const timeouts = clock.after(budgetMs + abandonAfterMs, () => {
        log.error({ pool, left: handles.size }, "work ignored its abort and is left behind");
        emptied?.();
      });
      await empty;
      budget.cancel();
      timeouts.cancel();
    },
  };
}
