// Wakes up when a job is due and looks at it. It keeps one number a job and one timer; what it knows may be
// lost or late, because every look decides anew from the job's cell and the clock. It sleeps in short slices:
// a timer counts elapsed time, and a machine that slept, or a clock that was set, would be believed.
import { sleep, type Clock, type Log } from "@parley/protocol";
import type { Pace } from "@parley/queue";
import { jobPrefix, wakeOf } from "@parley/schedules";
import type { Cells } from "@parley/store";
import type { FireJob } from "./fire-job.ts";

export interface JobTimer {
  /** A job was written or removed. */
  changed(id: string): void;
  /** When the next job is due; null: none. */
  nextAtMs(): number | null;
  stop(): Promise<void>;
}

export interface JobTimerOptions {
  readonly cells: Pick<Cells, "list">;
  /** Of the current config; false: nothing fires. */
  readonly isOn: () => boolean;
  readonly fire: FireJob;
  /** Spaces the looks while people are served. */
  readonly pace: Pace;
  /** Other processes write jobs too, so the list is read again now and then. */
  readonly isShared: boolean;
  readonly clock: Clock;
  readonly log: Log;
}

const sliceMs = 30_000;
/** They share commits. Few, because the steps of a person's turn wait behind all that are under way. */
const jobsAtOnce = { calm: 8, served: 4 };
const readAtOnce = 200;
const mostJobs = 10_000;
const relistMs = 60_000;
/** After a look that failed, because the store was away or by a bug. */
const againMs = 5_000;

export function jobTimer({ cells, isOn, fire, pace, isShared, clock, log }: JobTimerOptions): JobTimer {
  /** When each job is to be looked at. */
  const wakes = new Map<string, number>();
  let stopped = false;
  let timer: { cancel(): void } | null = null;
  let looking: Promise<void> | null = null;
  let listedAtMs: number | null = null;
  const ending = new AbortController();

  const nextAtMs = (): number | null => {
    let next = Infinity;
    for (const atMs of wakes.values()) if (atMs < next) next = atMs;
    return next === Infinity ? null : next;
  };

  function arm(): void {
    timer?.cancel();
    timer = null;
    if (stopped || looking !== null) return;
    const next = isOn() ? nextAtMs() : null;
    const waitMs = Math.max(0, (next ?? Infinity) - clock.now());
    // Without a job there is nothing to wake up for, unless another process may make one.
    if (next === null && !isShared && listedAtMs !== null && isOn()) return;
    timer = clock.after(Math.min(waitMs, sliceMs), look);
  }

  function look(): void {
    looking ??= lookNow()
      .catch((error: unknown) => log.warn({ error }, "the schedules could not be looked at, trying again"))
      .finally(() => {
        looking = null;
        arm();
      });
  }

  async function lookNow(): Promise<void> {
    const nowMs = clock.now();
    const isStale = listedAtMs === null || (isShared && Math.abs(nowMs - listedAtMs) >= relistMs);
    if (isStale) await list();
    while (!stopped && isOn()) {
      const due = [...wakes].filter(([, atMs]) => atMs <= clock.now());
      if (due.length === 0) return;
      // The one that has waited longest comes first.
      await lookAtAll(due.toSorted(([, a], [, b]) => a - b).map(([id]) => id));
    }
  }

  async function lookAtAll(ids: readonly string[]): Promise<void> {
    for (let at = 0; at < ids.length && !stopped && isOn();) {
      const leftMs = pace.leftMs();
      if (leftMs !== null && leftMs > 0) {
        await sleep(clock, leftMs, ending.signal);
        continue;
      }
      pace.began();
      const some = ids.slice(at, at + (leftMs === null ? jobsAtOnce.calm : jobsAtOnce.served));
      at += some.length;
      await Promise.all(some.map(lookAt));
    }
  }

  async function lookAt(id: string): Promise<void> {
    const plannedMs = wakes.get(id);
    let nextMs: number | null;
    try {
      nextMs = await fire(id);
    } catch (error) {
      log.warn({ job: id, error }, "a schedule could not be looked at, trying again");
      nextMs = clock.now() + againMs;
    }
    // A change that came while it was looked at wants another look.
    if (wakes.get(id) !== plannedMs) return;
    if (nextMs === null) wakes.delete(id);
    else wakes.set(id, nextMs);
  }

  /** Reads the jobs in slices, so that thousands delay nothing else. */
  async function list(): Promise<void> {
    const found = await cells.list(jobPrefix, mostJobs);
    const seen = new Set<string>();
    for (let at = 0; at < found.length && !stopped; at += readAtOnce) {
      for (const cell of found.slice(at, at + readAtOnce)) {
        const id = cell.key.slice(jobPrefix.length);
        seen.add(id);
        const { atMs } = wakeOf(cell);
        if (atMs === null) wakes.delete(id);
        else wakes.set(id, Math.min(atMs, wakes.get(id) ?? atMs));
      }
      if (at + readAtOnce < found.length) await sleep(clock, 0);
    }
    for (const id of wakes.keys()) if (!seen.has(id)) wakes.delete(id);
    listedAtMs = clock.now();
  }

  look();
  return {
    changed(id) {
      // Never the time that a look under way was planned for, so that its result does not overwrite this.
      wakes.set(id, Math.min(clock.now(), (wakes.get(id) ?? Infinity) - 1));
      if (looking === null) {
        timer?.cancel();
        timer = clock.after(0, look);
      }
    },
    nextAtMs,
    async stop() {
      stopped = true;
      ending.abort();
      timer?.cancel();
      await looking;
    },
  };
}
