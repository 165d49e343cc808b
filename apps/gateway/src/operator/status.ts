// What an operator sees first: health and status.
import type { Config } from "@parley/config";
import type { Channel } from "@parley/channels";
import { accountKey, type Clock, type MethodResult, version } from "@parley/protocol";
import type { Store } from "@parley/store";
import type { MessagePath } from "../message-path.ts";
import type { GatewayState } from "../gateway-state.ts";
import type { ConfigState } from "../reload/reloader.ts";
import type { NodeView, NodeRegistry } from "@parley/cluster";
import type { Wired } from "../wiring/wiring.ts";

export interface StatusOptions {
  readonly config: Config;
  readonly configPath: string;
  readonly configState: () => ConfigState;
  readonly store: Store;
  readonly core: Pick<MessagePath, "running" | "hold">;
  readonly wired: Wired;
  readonly listNodes: NodeRegistry["list"];
  readonly state: GatewayState;
  readonly bootId: string;
  readonly clock: Clock;
}

/** Lanes that are counted; more than this is shown as this many. */
const laneLimit = 1_000;

export function statusMethods(options: StatusOptions) {
  const { store, state } = options;
  const startedAtMs = options.clock.now();
  return {
    async health(): Promise<MethodResult<"health">> {
      const { state: now, reasons } = await state.report();
      return { ok: now === "ok", reasons: [...reasons] };
    },
    async status(): Promise<MethodResult<"status">> {
      // A store that fails, in whatever way, counts nothing: the state says why, and what memory knows is told all the same.
      const [report, nodes, lanes, conversations, troubled, held] = await Promise.all([
        state.report(),
        options.listNodes().catch(() => []),
        store.turns.list(undefined, laneLimit).catch(() => []),
        store.outbox.list(undefined, laneLimit).catch(() => []),
        store.troubled().catch(() => ({ rows: 0, deliveries: 0 })),
        options.core.hold.now().catch(() => null),
      ]);
      const waiting = (list: typeof lanes): number => list.reduce((sum, lane) => sum + lane.waiting, 0);
      return {
        version,
        pid: process.pid,
        bootId: options.bootId,
        startedAtMs,
        state: held !== null && report.state === "ok" ? "degraded" : report.state,
        reasons: [
          ...report.reasons,
          ...(held === null
            ? []
            : [`all tools are held by /estop of ${held.by}; "parley tools resume" lets them go on`]),
        ],
        configPath: options.configPath,
        config: shownConfig(options.configState()),
        model: options.config.agents.defaults.model.primary,
        channels: [...options.wired.channels.values()].map((channel) => ({
          channel: channel.name,
          account: channel.account,
          ...(state.hears(channel) ? channel.health() : elsewhere(channel, nodes)),
        })),
        turnsRunning: options.core.running.count(),
        rowsWaiting: waiting(lanes),
        deliveriesWaiting: waiting(conversations),
        deadRows: troubled.rows,
        deliveriesTroubled: troubled.deliveries,
        memoryBytes: residentBytes(),
      };
    },
  };
}

/** What this process has not begun is no trouble of its own. */
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

/** Asking for it opens a file, which a process at its limit cannot: then what it was last. */
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
