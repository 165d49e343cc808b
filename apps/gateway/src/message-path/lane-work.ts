// Starts the pools of turns and deliveries, and the timer of jobs. It resolves the current config's handlers
// on every lease, so a reload takes effect on the next turn or batch, and work that began ends with the
// config it began with.
import type { Config } from "@parley/config";
import type { Clock } from "@parley/protocol";
import { startPools, type Pools, type PoolsOptions } from "@parley/queue";
import { programSinks } from "@parley/access";
import { type FireJob } from "../schedules/fire-job.ts";
import { sendHeartbeats, type HeartbeatWork } from "../schedules/heartbeats.ts";
import type { JobChanges } from "../schedules/job-changes.ts";
import { callWebhooks, type Dial } from "../schedules/call-webhooks.ts";
import type { SlotNumbers } from "../schedules/slot-counts.ts";
import { jobTimer } from "../schedules/job-timer.ts";
import { live } from "./live.ts";

export interface LaneWork extends Pick<PoolsOptions, "runTurn" | "buryTurn" | "deliver"> {
  readonly concurrency: PoolsOptions["concurrency"];
  readonly lookAtJob: FireJob;
  readonly heartbeats: HeartbeatWork;
  readonly slotsNow: () => SlotNumbers;
  /** Has sub-agents leave threads that nobody uses. */
  readonly leaveIdleThreads: () => Promise<void>;
  /** False: no job fires. */
  readonly jobsOn: boolean;
}

/** Most turns at once, by class. */
export function turnsAtOnce({
  agents: { defaults },
  cron,
}: Pick<Config, "agents" | "cron">): LaneWork["concurrency"] {
  return {
    main: defaults.maxConcurrent,
    subagent: defaults.subagents.maxConcurrent,
    cron: cron.maxConcurrentRuns,
    heartbeat: 2,
  };
}

/** The part of the work that this process does; other nodes do the rest. */
export interface Share {
  readonly turns: boolean;
  /** Accounts that need no leader. */
  readonly accounts: readonly string[];
}

export interface StartWorkOptions extends Pick<
  PoolsOptions,
  "store" | "onReady" | "holder" | "busy" | "clock" | "ids" | "log"
> {
  readonly jobChanges: Pick<JobChanges, "onChange" | "onCall">;
  /** Absent: the webhooks of jobs wait. */
  readonly dial?: Dial | undefined;
  /** Several processes share the store. */
  readonly isShared: boolean;
}

/** Starts the pools and the timer of jobs. `now` returns the current config's handlers. */
export function startWork(options: StartWorkOptions, now: () => LaneWork, share: Share): Pools {
  const pools = startLanes(options, now, share);
  if (!share.turns) return pools;
  const { store, jobChanges, isShared, dial, clock } = options;
  const log = options.log.child({ part: "schedules" });
  const timer = jobTimer({
    cells: store.cells,
    isOn: () => now().jobsOn,
    fire: (id) => now().lookAtJob(id),
    pace: pools.pace,
    isShared,
    clock,
    log,
  });
  const webhooks = dial === undefined ? undefined : callWebhooks({ cells: store.cells, dial, clock, log });
  const forget = jobChanges.onChange(timer.changed);
  const forgetCalls = jobChanges.onCall(() => webhooks?.look());
  const stopBeating = sendHeartbeats(() => now().heartbeats, clock, log);
  const stopLeaving = everyMinute(
    () => now().leaveIdleThreads(),
    clock,
    (error) => log.warn({ error }, "threads that nobody uses could not be left now, trying again"),
  );
  return {
    ...pools,
    async drain(budgets) {
      stopLeaving();
      forget();
      forgetCalls();
      stopBeating();
      await Promise.all([timer.stop(), webhooks?.stop()]);
      await pools.drain(budgets);
    },
  };
}

/** Returns how to stop it. */
function everyMinute(work: () => Promise<void>, clock: Clock, failed: (error: unknown) => void): () => void {
  let stopped = false;
  const again = (): { cancel(): void } =>
    clock.after(60_000, () => {
      work()
        .catch(failed)
        .finally(() => {
          if (!stopped) timer = again();
        });
    });
  let timer = again();
  return () => {
    stopped = true;
    timer.cancel();
  };
}

function startLanes(options: StartWorkOptions, now: () => LaneWork, share: Share): Pools {
  return startPools({
    ...options,
    concurrency: live(() => now().concurrency),
    runTurn: (turn, lease) => now().runTurn(turn, lease),
    buryTurn: (turn, error) => now().buryTurn(turn, error),
    runsTurns: share.turns,
    accounts: share.accounts,
    always: [...programSinks.keys()],
    deliver: deliverNow(now),
  });
}

/** Makes the deliverer of an account anew when the config has changed. */
function deliverNow(now: () => LaneWork): PoolsOptions["deliver"] {
  return (account) => {
    let madeBy = now();
    let deliver = madeBy.deliver(account);
    return (batch, lease) => {
      if (madeBy !== now()) {
        madeBy = now();
        deliver = madeBy.deliver(account);
      }
      return deliver(batch, lease);
    };
  };
}
