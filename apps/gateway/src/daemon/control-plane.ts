// Starts this daemon's control plane: the server with every method, page and program route, over the current
// message path. It reads what it shows from the parts at that moment and caches nothing (I10).
import { listenAddress, replaceFile, type ConfigEditor, type LoadedConfig } from "@parley/config";
import { Fault, type Clock, type Ids, type Log, type MethodResult, version } from "@parley/protocol";
import {
  type Caller,
  connectedClients,
  deviceStore,
  type Hub,
  controlServer,
  type ControlServer,
} from "@parley/control";
import type { DeviceCalls, PushCalls } from "@parley/devices";
import { auditLog } from "../audit/audit-log.ts";
import type { DatabaseJobs } from "../maintenance/database-jobs.ts";
import type { RecentLog } from "../log/recent-log.ts";
import type { ConfiguredPath } from "../message-path/paths-by-config.ts";
import { runningDatabase } from "../operator/backup.ts";
import { logStream } from "../operator/logs.ts";
import type { ConfigPorts } from "../operator/ports.ts";
import { jobNamed } from "../operator/schedules.ts";
import { handlers } from "../operator/table.ts";
import { sessionOwnership, type Refusals } from "@parley/access";
import type { GatewayMetrics } from "../metrics/gateway-metrics.ts";
import type { NodeRegistry } from "@parley/cluster";
import { apiRoutes } from "../api/routes.ts";
import { hookWorld } from "../api/hook-world.ts";
import { apiRequests } from "../api/api-requests.ts";
import type { Reloader } from "../reload/reloader.ts";
import type { MemoryEngine } from "@parley/memory";
import { spanMs } from "@parley/schedules";
import type { Restarting } from "@parley/runner";
import type { SelfUpdate } from "../update/self-update.ts";
import type { GatewayState } from "../gateway-state.ts";
import { worldOfConfig } from "../offline/world-of-config.ts";
import { docsFolder, webRoot } from "../installation.ts";
import { webAccount, type Wired } from "../wiring/channels.ts";
import type { WiredStore } from "../wiring/store.ts";

export interface ControlPlaneOptions extends Pick<LoadedConfig, "config" | "path" | "places"> {
  readonly env: { readonly [name: string]: string | undefined };
  /** Overrides the config's port. */
  readonly port?: number;
  /** Absent: this process can only be stopped. */
  readonly restarting?: Restarting;
  readonly selfUpdate: SelfUpdate;
  readonly store: WiredStore;
  readonly hub: Hub;
  readonly wired: Wired;
  readonly state: GatewayState;
  /** The only editor of the config file in this process. */
  readonly editor: ConfigEditor;
  /** The current message path, and parts that always use the current one. */
  readonly pathNow: () => Pick<ConfiguredPath, "config">;
  readonly live: Pick<ConfiguredPath, "path" | "models" | "skills" | "hooks">;
  readonly reloading: Pick<Reloader, "reload" | "state">;
  /** Ends safe mode; false when it was not on. */
  readonly resume: () => Promise<boolean>;
  readonly jobs: Pick<DatabaseJobs, "backup">;
  readonly metrics: Pick<GatewayMetrics, "text" | "webhookCalled">;
  readonly memory: MemoryEngine;
  readonly hookCounts: ConfigPorts["hookCounts"];
  readonly deviceCalls: DeviceCalls;
  readonly devicePush: PushCalls;
  readonly refusals: Refusals;
  readonly recentLog: RecentLog;
  readonly listNodes: NodeRegistry["list"];
  /** The gateway's token; it has every scope. */
  readonly token: string;
  /** A token for this run alone, which every reader of the state folder can find there. */
  readonly localToken: string;
  readonly bootId: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

export interface ControlPlane extends ControlServer {
  /** Answers the method of this name. */
  readonly status: () => Promise<MethodResult<"status">>;
}

/** The caller when the daemon itself asks. */
const itself: Caller = {
  peer: "web-itself",
  scopes: ["read"],
  client: { name: "status file", version },
  device: null,
  address: "local",
};
/** Time for the answer to reach whoever asked for a restart. */
const restartDelayMs = 50;

/**
 * Resolves once the server listens. Throws Fault("unavailable") when the port is taken or may not be used.
 */
export async function controlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const {
    config,
    store,
    hub,
    wired,
    state,
    pathNow,
    live,
    reloading,
    token,
    localToken,
    bootId,
    clock,
    ids,
    log,
  } = options;
  const devices = deviceStore(store.cells, clock, ids);
  const clients = connectedClients();
  // Cached now, because an operator asks what is wrong also while the store is away.
  await devices.operatorPeer();
  options.recentLog.follow((line) => hub.show(logStream, "log.line", { line }));
  const answers = handlers({
    configNow: () => pathNow().config,
    ...live.path,
    models: live.models,
    modelCatalog: live.path.models,
    skills: live.skills,
    hooks: live.hooks,
    hookCounts: options.hookCounts,
    memory: options.memory,
    home: options.places.home,
    configPath: options.path,
    database: runningDatabase(store.file, options.jobs),
    listNodes: options.listNodes,
    store,
    wired,
    state,
    editor: options.editor,
    restartNeeded: (changed) =>
      reloading.state().restartNeeded.filter((key) => changed.some((place) => overlap(key, place))),
    jobNamed: (id) => jobNamed(live.path.schedules, id),
    reload: reloading.reload,
    configState: reloading.state,
    devices,
    clients,
    deviceCalls: options.deviceCalls,
    devicePush: options.devicePush,
    controlUrl: () => control.url,
    loginUrl: (granted) => control.loginUrl(granted),
    unlock: () => control.unlock(),
    recentLog: options.recentLog,
    restart: async (reason) => {
      if (options.restarting === undefined)
        throw new Fault("unsupported", "this gateway can only be stopped, and started again by hand");
      const trouble = await options.restarting.trouble();
      if (trouble !== null)
        throw new Fault("invalid", `the gateway runs on, it would not come up again:\n${trouble}`);
      log.info({ reason }, "a restart was asked for");
      clock.after(restartDelayMs, options.restarting.begin);
    },
    ids,
    selfUpdate: options.selfUpdate,
    resume: options.resume,
    bootId,
    clock,
    log,
    worldOf: worldOfConfig({
      places: options.places,
      env: options.env,
      memory: options.memory,
      store,
      bootId,
      clock,
      ids,
      log,
    }),
  });
  const controlLog = log.child({ part: "control" });
  const control: ControlServer = await controlServer({
    host: listenAddress(config.gateway.bind),
    port: options.port ?? config.gateway.port,
    allowedHosts: [...config.gateway.allowedHosts, ...hostOf(config.gateway.publicUrl)],
    trustedProxies: config.gateway.trustedProxies,
    refusals: options.refusals,
    tokens: [token, localToken],
    devices,
    clients,
    cells: store.cells,
    events: store.events,
    hub,
    handlers: answers,
    audit: auditLog(options.places.home, clock).write,
    ownsSession: sessionOwnership((message) => live.path.route(message), webAccount),
    health: state.ready,
    webhook: (account) => wired.webhooks.get(account) ?? null,
    programs: apiRoutes({
      docsFolder,
      cells: store.cells,
      receive: (events) => live.path.receive(events),
      isOpen: () => state.phase() === "running",
      requests: apiRequests({
        ...store,
        receive: (events) => live.path.receive(events),
        isOpen: () => state.phase() === "running",
        hub,
        hookRetentionMs: () => spanMs(pathNow().config.hooks.sessionRetention) ?? 0,
        wake: (...told) => live.path.schedules.tell(...told),
        clock,
      }),
      agents: () => pathNow().config.agents.list.map(({ id }) => id),
      hooks: () => pathNow().config.hooks,
      world: hookWorld({ configNow: () => pathNow().config, path: live.path, store }),
      counted: options.metrics.webhookCalled,
      clock,
      ids,
      log: controlLog,
    }),
    webRoot,
    ...(config.gateway.metrics.enabled
      ? {
          metrics: {
            text: options.metrics.text,
            openOnLoopback: () => pathNow().config.gateway.metrics.openOnLoopback,
          },
        }
      : {}),
    webAccount,
    version,
    bootId,
    clock,
    ids,
    log: controlLog,
  });
  // Without this file nobody could find a port that the system chose or that the config no longer names, nor
  // log in before a new token is in force.
  const found = `${control.port} ${process.pid} ${config.gateway.bind} ${localToken}\n`;
  await replaceFile(options.places.portPath, found, { isPrivate: true });
  return { ...control, status: () => answers.status({}, itself) };
}

/** True when one of two config paths lies inside the other: a new block is reported whole. */
function overlap(one: string, other: string): boolean {
  return `${one}.`.startsWith(`${other}.`) || `${other}.`.startsWith(`${one}.`);
}

function hostOf(url: string | undefined): readonly string[] {
  const host = URL.parse(url ?? "")?.hostname;
  return host === undefined ? [] : [host];
}
