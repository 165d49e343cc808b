// Registers the metrics that are read at each scrape: the state of the daemon's parts, and of its process.
import type { monitorEventLoopDelay } from "node:perf_hooks";
import type { Channel } from "@parley/channels";
import { accountKey } from "@parley/protocol";
import type { LaneView, Store } from "@parley/store";
import type { DeviceCalls, PushCalls } from "@parley/devices";
import type { MetricRegistry, Sample } from "@parley/control";
import type { GatewayState } from "../gateway-state.ts";
import { childrenNow } from "../operator/status.ts";
import type { SlotNumbers } from "../schedules/slot-counts.ts";
import type { ScheduledBackups } from "../maintenance/scheduled-backups.ts";
import type { Reloader } from "../reload/reloader.ts";

export interface WatchedParts {
  readonly store: Pick<Store, "turns" | "outbox" | "cells" | "troubled">;
  readonly channels: () => readonly Channel[];
  readonly state: Pick<GatewayState, "phase" | "ready" | "store">;
  readonly turnsRunning: () => number;
  readonly deliveriesRunning: () => number;
  /** The backups on a schedule. */
  readonly backups: Pick<ScheduledBackups, "lastAtMs" | "everyMs" | "trouble">;
  readonly stableMoves: () => ReadonlyMap<string, number>;
  readonly heartbeats: () => ReadonlyMap<string, number>;
  /** What the nightly upkeep of notes proposed. */
  readonly proposals: () => Promise<readonly { readonly state: string }[]>;
  readonly slots: () => SlotNumbers;
  readonly connections: () => number;
  readonly devices: Pick<DeviceCalls, "connected" | "counts">;
  readonly pushes: Pick<PushCalls, "counts">;
  readonly reloads: () => ReturnType<Reloader["counts"]>;
  readonly configTrouble: () => boolean;
  readonly version: string;
}

/** Counts above this are reported as this number. */
const laneLimit = 1_000;

export function registerGauges(registry: MetricRegistry, parts: WatchedParts): void {
  const { store, state } = parts;
  const lanes = async (
    list: (limit: number) => Promise<readonly LaneView[]>,
    per: (lane: LaneView) => number,
  ): Promise<readonly Sample[]> => {
    const pools = new Map<string, number>();
    for (const lane of await list(laneLimit)) pools.set(lane.pool, (pools.get(lane.pool) ?? 0) + per(lane));
    return [...pools].map(([pool, value]) => [{ pool }, value]);
  };
  const sessions = (limit: number): Promise<readonly LaneView[]> => store.turns.list(undefined, limit);
  const conversations = (limit: number): Promise<readonly LaneView[]> => store.outbox.list(undefined, limit);

  registry.look("gauge", "parley_build_info", "Which Parley this is.", () => [
    [{ version: parts.version }, 1],
  ]);
  registry.look("gauge", "parley_ready", "1 while /readyz says so.", () => [[{}, state.ready().ok ? 1 : 0]]);
  registry.look("gauge", "parley_phase", "1 at the phase that the daemon is in.", () =>
    (["starting", "running", "draining", "safe-mode"] as const).map((phase) => [
      { phase },
      state.phase() === phase ? 1 : 0,
    ]),
  );
  registry.look("gauge", "parley_store_up", "1 while the store takes writes.", () => [
    [{}, state.store() ? 1 : 0],
  ]);
  registry.look("gauge", "parley_channel_up", "1 while the account's channel hears and speaks.", () =>
    parts
      .channels()
      .map((channel) => [
        { account: accountKey({ channel: channel.name, account: channel.account }) },
        channel.health().state === "ok" ? 1 : 0,
      ]),
  );
  registry.look(
    "gauge",
    "parley_channel_last_inbound_timestamp_seconds",
    "When the account last heard something.",
    () =>
      parts.channels().flatMap((channel) => {
        const { lastInboundAtMs } = channel.health();
        const account = accountKey({ channel: channel.name, account: channel.account });
        return lastInboundAtMs === undefined ? [] : [[{ account }, lastInboundAtMs / 1000] as const];
      }),
  );
  registry.look("gauge", "parley_lanes", "Sessions with work, by pool; counted up to 1000.", () =>
    lanes(sessions, () => 1),
  );
  registry.look("gauge", "parley_messages_waiting", "Messages that wait for their turn, by pool.", () =>
    lanes(sessions, ({ waiting }) => waiting),
  );
  registry.look("gauge", "parley_deliveries_waiting", "Answers that wait to be sent, by account.", () =>
    lanes(conversations, ({ waiting }) => waiting),
  );
  registry.look("gauge", "parley_turns_running", "Turns at work in this process.", () => [
    [{}, parts.turnsRunning()],
  ]);
  registry.look(
    "gauge",
    "parley_subagents",
    "Sub-agents that run or wait, and those of the last seven days by how they ended.",
    async () => {
      const { running, waiting, ended } = await childrenNow(store);
      return Object.entries({ running, waiting, ...ended }).map(([state, value]) => [{ state }, value]);
    },
  );
  registry.look("gauge", "parley_deliveries_running", "Conversations that this process sends to now.", () => [
    [{}, parts.deliveriesRunning()],
  ]);
  registry.look(
    "gauge",
    "parley_dead_messages",
    "Messages that failed for good and wait for an operator; counted up to 1000.",
    async () => [[{}, (await store.troubled()).rows]],
  );
  registry.look(
    "gauge",
    "parley_troubled_deliveries",
    "Answers that did not arrive, or may not have; counted up to 1000.",
    async () => [[{}, (await store.troubled()).deliveries]],
  );
  registry.look(
    "counter",
    "parley_prompt_stable_moves_total",
    "Turns that found their session's stable prompt moved, by section.",
    () => [...parts.stableMoves()].map(([section, value]) => [{ section }, value]),
  );
  registry.look(
    "counter",
    "parley_heartbeats_total",
    "Heartbeats of this process that were due: sent, failed, or why they were skipped.",
    () => [...parts.heartbeats()].map(([result, value]) => [{ result }, value]),
  );
  registry.look(
    "gauge",
    "parley_memory_proposals",
    "What the notes' nightly upkeep proposed in the last 30 days, by what became of it.",
    async () => {
      const states = new Map<string, number>();
      for (const { state: is } of await parts.proposals()) states.set(is, (states.get(is) ?? 0) + 1);
      return [...states].map(([is, value]) => [{ state: is }, value]);
    },
  );
  registry.look(
    "counter",
    "parley_cron_slots_total",
    "Instants of jobs that this process decided: fired, or why they did not run.",
    () => {
      const { fired, skipped, missed } = parts.slots();
      const reasons = (result: string, by: object): readonly Sample[] =>
        Object.entries(by).map(([reason, value]) => [{ result, reason }, Number(value)]);
      return [
        [{ result: "fired", reason: "" }, fired],
        ...reasons("skipped", skipped),
        ...reasons("missed", missed),
      ];
    },
  );
  registry.look(
    "counter",
    "parley_cron_late_seconds_total",
    "How late the fired instants of jobs were, added up.",
    () => [[{}, parts.slots().lateSeconds]],
  );
  registry.look(
    "gauge",
    "parley_cron_running",
    "Runs of jobs at work, in all processes; up to 1000.",
    async () => [
      [{}, (await store.turns.list("cron", laneLimit)).filter(({ holder }) => holder !== null).length],
    ],
  );
  registry.look(
    "gauge",
    "parley_last_backup_timestamp_seconds",
    "When the newest backup on a schedule was made; absent where there is none.",
    () => {
      const atMs = parts.backups.lastAtMs();
      return atMs === null ? [] : [[{}, atMs / 1_000]];
    },
  );
  registry.look(
    "gauge",
    "parley_backup_interval_seconds",
    "Time between two backups on a schedule; absent where none are made.",
    () => {
      const everyMs = parts.backups.everyMs();
      return everyMs === null ? [] : [[{}, everyMs / 1_000]];
    },
  );
  registry.look(
    "gauge",
    "parley_backup_ok",
    "0 while the last backup on a schedule could not be made.",
    () => [[{}, parts.backups.everyMs() !== null && parts.backups.trouble() !== null ? 0 : 1]],
  );
  registry.look("gauge", "parley_control_connections", "Clients of the control plane.", () => [
    [{}, parts.connections()],
  ]);
  registry.look("gauge", "parley_devices_connected", "Paired devices that are connected.", async () => [
    [{}, await parts.devices.connected()],
  ]);
  registry.look(
    "counter",
    "parley_device_calls_total",
    "Calls to paired devices that ended in this process: ok, failed, late, refused or revoked.",
    () => [...parts.devices.counts].map(([result, value]) => [{ result }, value]),
  );
  registry.look(
    "counter",
    "parley_device_pushes_total",
    "Pushes to browsers that are devices: sent, gone (the browser is) or refused.",
    () => [...parts.pushes.counts].map(([result, value]) => [{ result }, value]),
  );
  registry.look(
    "counter",
    "parley_config_reloads_total",
    "Changes of the config, by what became of them.",
    () => {
      const { taken, refused } = parts.reloads();
      return [
        [{ result: "taken" }, taken],
        [{ result: "refused" }, refused],
      ];
    },
  );
  registry.look("gauge", "parley_config_ok", "0 while the config file is one that was refused.", () => [
    [{}, parts.configTrouble() ? 0 : 1],
  ]);
}

/** Named as Prometheus' own clients name them. */
export function registerProcessMetrics(
  registry: MetricRegistry,
  startedAtMs: number,
  lag: ReturnType<typeof monitorEventLoopDelay>,
): void {
  registry.look("counter", "process_cpu_seconds_total", "User and system CPU time.", () => {
    const { user, system } = process.cpuUsage();
    return [[{}, (user + system) / 1e6]];
  });
  registry.look("gauge", "process_start_time_seconds", "When the daemon started.", () => [
    [{}, startedAtMs / 1000],
  ]);
  registry.look("gauge", "process_resident_memory_bytes", "Resident memory.", () => [
    [{}, process.memoryUsage.rss()],
  ]);
  registry.look("gauge", "nodejs_heap_size_used_bytes", "Heap in use.", () => [
    [{}, process.memoryUsage().heapUsed],
  ]);
  registry.look(
    "gauge",
    "nodejs_eventloop_lag_seconds",
    "How late the event loop was since the last look: mean, 99th percentile and most.",
    () => {
      // The monitor wakes the process fifty times a second, so it starts with the first scrape.
      lag.enable();
      const samples: readonly Sample[] = [
        [{ stat: "mean" }, seconds(lag.mean)],
        [{ stat: "p99" }, seconds(lag.percentile(99))],
        [{ stat: "max" }, seconds(lag.max)],
      ];
      lag.reset();
      return samples;
    },
  );
}

/** Converts nanoseconds; right after a reset there are none. */
function seconds(nanos: number): number {
  return Number.isFinite(nanos) ? nanos / 1e9 : 0;
}
