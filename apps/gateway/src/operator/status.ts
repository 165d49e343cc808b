// Implements health and status, the operator's first view of the gateway.
import type { Channel } from "@parley/channels";
import { accountKey, type MethodResult, version } from "@parley/protocol";
import type { ConfigState } from "../reload/reloader.ts";
import type { NodeView } from "@parley/cluster";
import { childCounts, childRegistry, type ChildCounts } from "@parley/runner";
import type { Store } from "@parley/store";
import type { DaemonPorts } from "./ports.ts";

/** Counts of lanes stop at this number. */
const laneLimit = 1_000;

export function statusMethods(ports: DaemonPorts) {
  const { store, state } = ports;
  const startedAtMs = ports.clock.now();

  async function status(): Promise<MethodResult<"status">> {
    // When the store fails, these counts are left out: the state names the reason, and facts in memory still
    // show.
    const [report, nodes, lanes, conversations, troubled, held, children] = await Promise.all([
      state.report(),
      ports.listNodes().catch(() => []),
      store.turns.list(undefined, laneLimit).catch(() => []),
      store.outbox.list(undefined, laneLimit).catch(() => []),
      store.troubled().catch(() => ({ rows: 0, deliveries: 0 })),
      ports.hold.now().catch(() => null),
      childrenNow(store).catch(() => null),
    ]);
    const waiting = (list: typeof lanes): number => list.reduce((sum, lane) => sum + lane.waiting, 0);
    return {
      version,
      pid: process.pid,
      bootId: ports.bootId,
      startedAtMs,
      state: held !== null && report.state === "ok" ? "degraded" : report.state,
      reasons: [
        ...report.reasons,
        ...(held === null
          ? []
          : [`all tools are held by /estop of ${held.by}; "parley tools resume" lets them go on`]),
      ],
      configPath: ports.configPath,
      config: shownConfig(ports.configState()),
      model: ports.configNow().agents.defaults.model.primary,
      channels: [...ports.wired.channels.values()].map((channel) => ({
        channel: channel.name,
        account: channel.account,
        ...(state.hears(channel) ? channel.health() : elsewhere(channel, nodes)),
      })),
      turnsRunning: ports.running.count(),
      rowsWaiting: waiting(lanes),
      deliveriesWaiting: waiting(conversations),
      deadRows: troubled.rows,
      deliveriesTroubled: troubled.deliveries,
      memoryBytes: residentBytes(),
      heartbeats: Object.fromEntries(ports.work.heartbeats.counts),
      ...(children === null ? {} : { subagents: { ...children, ended: { ...children.ended } } }),
    };
  }

  return {
    async health(): Promise<MethodResult<"health">> {
      const { state: now, reasons } = await state.report();
      return { ok: now === "ok", reasons: [...reasons] };
    },
    status,
    "channels.list": async (): Promise<MethodResult<"channels.list">> => ({
      channels: (await status()).channels,
    }),
  };
}

/** Counts the sub-agents of all sessions. */
export async function childrenNow({ cells, turns }: Pick<Store, "cells" | "turns">): Promise<ChildCounts> {
  const [children, lanes] = await Promise.all([
    childRegistry(cells).all(),
    turns.list("subagent", laneLimit),
  ]);
  return childCounts(children, lanes);
}

/**
 * An account that another node runs is no failure of this process. By the first word of the reason an update,
 * perhaps of another version, knows that one does.
 */
function elsewhere(
  channel: Channel,
  nodes: readonly NodeView[],
): { readonly state: "elsewhere"; readonly reason: string } {
  const account = accountKey({ channel: channel.name, account: channel.account });
  const leader = nodes.find(({ up, leads }) => up && leads.includes(account));
  return {
    state: "elsewhere",
    reason: leader === undefined ? "no node leads it yet" : `node ${leader.node} leads it`,
  };
}

/** Measuring opens a file, which a process at its limit cannot: then the last value stands. */
let lastBytes = 0;
function residentBytes(): number {
  try {
    lastBytes = process.memoryUsage.rss();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall !== "uv_resident_set_memory") throw error;
  }
  return lastBytes;
}

function shownConfig({ takenAtMs, problems, restartNeeded }: ConfigState): MethodResult<"status">["config"] {
  return { takenAtMs, problems: [...problems], restartNeeded: [...restartNeeded] };
}
