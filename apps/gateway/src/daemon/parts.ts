// Lists the daemon's parts, as `assemble` connects them and as what starts, reloads and stops takes them.
import type { Channel } from "@parley/channels";
import type { Cluster, NodeRegistry } from "@parley/cluster";
import type { Config } from "@parley/config";
import type { McpServers } from "@parley/mcp";
import type { Pools, WorkNotifier } from "@parley/queue";
import type { Restarting } from "@parley/runner";
import type { GatewayState } from "../gateway-state.ts";
import type { HookProcesses } from "../hooks/hook-process.ts";
import type { MessagePath } from "../message-path.ts";
import type { ConfiguredPath } from "../message-path/paths-by-config.ts";
import type { Wired } from "../wiring/channels.ts";
import type { WiredMachinePorts } from "../wiring/machine-ports.ts";
import type { ControlPlane } from "./control-plane.ts";

export interface Parts {
  readonly path: MessagePath;
  /** Returns the current config. */
  readonly configNow: () => Config;
  readonly pathOf: (config: Config) => Promise<ConfiguredPath>;
  /** Makes this message path the current one. */
  readonly use: (path: ConfiguredPath) => void;
  readonly wired: Wired;
  readonly workNotifier: WorkNotifier;
  readonly control: ControlPlane;
  readonly machinePorts: WiredMachinePorts;
  readonly mcp: McpServers;
  readonly hookProcesses: HookProcesses;
  /** Absent: this process can only be stopped. */
  readonly restarting?: Restarting;
  readonly state: GatewayState;
  readonly setMenu: (channel: Channel, signal?: AbortSignal) => Promise<void>;
  /** Null where this process is alone on its store. */
  readonly cluster: Cluster | null;
  readonly nodeRegistry: NodeRegistry;
  /** True when one leading node connects the account and delivers for it. */
  readonly isLed: (account: string) => boolean;
  /** Parts that are built last. */
  readonly running: { pools: Pools | null };
  readonly closeHub: () => void;
  /** Aborted when the daemon stops. */
  readonly ending: AbortController;
}
