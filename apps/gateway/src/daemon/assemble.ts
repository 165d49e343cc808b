// Builds the daemon's parts and connects them. Nothing is received, sent or run yet: a part that exists later
// (the current path, the pools) is reached through a function, so that no part holds an old one.
import { join } from "node:path";
import { configEditor, type Places } from "@parley/config";
import { type Bus, turnPools } from "@parley/queue";
import { keepMenu } from "../commands/command-menu.ts";
import { processMemory } from "../message-path/process-memory.ts";
import { modelTrouble } from "@parley/runner";
import { eventHub } from "@parley/control";
import { livePath, pathsByConfig, type ConfiguredPath } from "../message-path/paths-by-config.ts";
import type { GatewayMetrics } from "../metrics/gateway-metrics.ts";
import {
  cluster,
  isWeb,
  hubOfNodes,
  clusterHandOvers,
  clusterMigratedChats,
  type NodePlace,
  type Role,
  keepNodeRegistry,
} from "@parley/cluster";
import { troubleAround } from "./machine-trouble.ts";
import { placeNow, type Refusals } from "@parley/access";
import { outOfFiles } from "./status-file.ts";
import { gatewayState } from "../gateway-state.ts";
import { restarting } from "./restart-check.ts";
import { memoryProcess } from "@parley/memory";
import { version } from "@parley/protocol";
import { wireMedia } from "../wiring/models.ts";
import { wireChannels } from "../wiring/channels.ts";
import { hookProcesses as wireHookProcesses } from "../hooks/hook-process.ts";
import { noticingCalls } from "../devices/wire-devices.ts";
import { wireMachinePorts } from "../wiring/machine-ports.ts";
import type { Logger } from "../log/logger.ts";
import { remoteTools, wireMcp, mcpSettings } from "../wiring/mcp.ts";
import { wireWorkNotifier } from "../wiring/store.ts";
import { controlPlane, type ControlPlaneOptions } from "./control-plane.ts";
import type { OpenedStore } from "./open-store.ts";
import type { Parts } from "./parts.ts";

type MadeHere =
  | "memory"
  | "restarting"
  | "selfUpdate"
  | "hub"
  | "wired"
  | "state"
  | "editor"
  | "pathNow"
  | "hookCounts"
  | "deviceCalls"
  | "devicePush"
  | "live"
  | "listNodes";

export interface Assembly extends Omit<ControlPlaneOptions, MadeHere | "metrics">, OpenedStore {
  /** Asks for a stop and a new start of this program; absent: it can only be stopped. */
  readonly restart?: () => void;
  readonly env: { readonly [name: string]: string | undefined };
  readonly places: Places;
  readonly role: Role;
  readonly place: NodePlace;
  readonly bus: Bus;
  /** Secrets that become known while the daemon runs. */
  readonly secrets: Pick<Logger, "learn" | "learnt">;
  readonly metrics: GatewayMetrics;
  /** Messages that admission refuses. */
  readonly strangers: Refusals;
}

export async function assemble(options: Assembly): Promise<Parts> {
  const {
    config,
    places,
    env,
    role,
    place,
    store,
    bus,
    secrets,
    reloading,
    metrics,
    token,
    localToken,
    bootId,
    clock,
    ids,
    log,
  } = options;
  const hub = hubOfNodes(eventHub(), bus, clock);
  const moved = await clusterMigratedChats(store, bus, log);
  const handOvers = await clusterHandOvers(store, bus, log);
  const mediaPath = join(places.home, "media");
  const wired = await wireChannels({ config, store, hub, mediaFolder: mediaPath, moved, clock, ids, log });
  const nodes = bus.shared
    ? cluster({ role, node: place.name, bootId, store, bus, wired, clock, log })
    : null;
  const isLed = (account: string): boolean => nodes !== null && !isWeb(account);
  const served = [...wired.channels.keys()].filter((account) => !isLed(account));
  const workNotifier = await wireWorkNotifier(config, {
    store,
    pools: [...(role === "edge" ? [] : turnPools), ...served],
    clock,
    log,
  });
  let configured: ConfiguredPath | null = null;
  const kept = processMemory(clock);
  const state = gatewayState(
    store,
    () => [...wired.channels.values()].filter((channel) => nodes?.hears(channel) ?? true),
    options.damage,
    () => reloading.state().problems,
    () => [...(configured?.path.quarantine.reasons() ?? []), ...kept.cooldowns.troubles().map(modelTrouble)],
    outOfFiles,
    () => troubleAround(configured?.config.agents.list ?? [], clock),
  );
  const editor = configEditor({
    env,
    home: places.home,
    takeUp: async () => (await reloading.reload("the file was changed through the gateway")).problems,
  });
  const restart =
    options.restart === undefined
      ? {}
      : {
          restarting: restarting({
            ...options,
            reload: reloading.reload,
            begin: options.restart,
            started: config,
            configNow: () => configured?.config ?? config,
            configPath: options.path,
            home: places.home,
            port: options.port,
            ownPort: () => control.port,
          }),
        };
  const restartNeeded = (): readonly string[] => reloading.state().restartNeeded;
  const memory = memoryProcess({ clock, node: config.store.driver === "redis" ? place.name : undefined });
  const machinePorts = await wireMachinePorts(
    {
      ...options,
      ...restart,
      memory,
      placeOf: (session, from) =>
        placeNow(handOvers, (configured?.config ?? config).session.identityLinks)(session, from),
      home: places.home,
      mediaPath,
      hub,
      editor,
      restartNeeded,
      configNow: () => configured?.config ?? config,
      sounds: () => wireMedia(configured?.config ?? config, mediaPath, { pictures: undefined, env, clock }),
    },
    store,
  );
  const mcp = wireMcp({
    store,
    home: places.home,
    pictures: machinePorts.pictures,
    env,
    configNow: () => configured?.config ?? config,
    refused: metrics.egressRefused,
    learn: secrets.learn,
    // As for approvals: everybody who may decide, in private.
    deciders: async () =>
      (
        (await configured?.path.approvals.surfaces(
          { channel: "none", account: "none", kind: "dm", peer: "none" },
          false,
        )) ?? []
      ).map(({ address }) => address),
    clock,
    ids,
    log,
  });
  mcp.use(mcpSettings(config.mcp));
  const hookProcesses = wireHookProcesses({ clock, log: log.child({ part: "hooks" }) });
  const pathOf = pathsByConfig({
    store: noticingCalls(store, hub, machinePorts.devicePush),
    onReady: workNotifier.onReady,
    channels: nodes?.channels ?? wired.channels,
    ...(nodes === null ? {} : { settleEdits: nodes.settleEdits }),
    machinePorts: { ...machinePorts, remote: remoteTools(mcp) },
    mcp,
    chatRestart: machinePorts.chatRestart,
    selfUpdate: machinePorts.selfUpdate,
    dial: machinePorts.dial,
    moved,
    handOvers,
    places,
    configPath: options.path,
    env,
    token,
    localToken,
    learnt: secrets.learnt,
    hub,
    state,
    hookProcesses,
    hookCounted: metrics.hookRan,
    watched: metrics.models,
    refusals: options.strangers,
    kept,
    bootId,
    clock,
    ids,
    log,
  });
  const first = await pathOf(config);
  configured = first;
  const pathNow = (): ConfiguredPath => configured ?? first;
  const live = livePath(pathNow);
  const { path } = live;
  const control = await controlPlane({
    ...options,
    selfUpdate: machinePorts.selfUpdate,
    ...restart,
    hub,
    wired,
    state,
    pathNow,
    live,
    editor,
    memory,
    hookCounts: () => kept.hooks.counts,
    deviceCalls: machinePorts.deviceCalls,
    devicePush: machinePorts.devicePush,
    listNodes: () => nodeRegistry.list(),
  });
  path.running.tellOthers((turn) => bus.tell("stop", turn));
  bus.hear("stop", path.running.heard);
  kept.jobChanges.tellOthers((job) => bus.tell("schedules", job));
  bus.hear("schedules", kept.jobChanges.heard);
  const running: Parts["running"] = { pools: null };
  const startedAtMs = clock.now();
  const nodeRegistry = keepNodeRegistry({
    alone: !bus.shared,
    cells: store.cells,
    line: () => ({
      node: place.name,
      boot: bootId,
      role,
      version,
      pid: process.pid,
      url: control.url,
      startedAtMs,
      state: state.phase(),
      turns: running.pools?.turnsRunning() ?? 0,
      deliveries: running.pools?.deliveriesRunning() ?? 0,
      leads: nodes?.leads() ?? [],
    }),
    clock,
    log,
  });
  const ending = new AbortController();
  const setMenu: Parts["setMenu"] = (channel, signal = ending.signal) =>
    keepMenu({
      channel,
      menuNow: () => path.commands.menu({ channel: channel.name, account: channel.account }),
      cells: store.cells,
      clock,
      log,
      signal: AbortSignal.any([signal, ending.signal]),
    });
  return {
    path,
    configNow: () => pathNow().config,
    pathOf,
    use(next) {
      configured = next;
      mcp.use(mcpSettings(next.config.mcp));
    },
    wired,
    workNotifier,
    control,
    machinePorts,
    mcp,
    hookProcesses,
    ...restart,
    state,
    setMenu,
    cluster: nodes,
    nodeRegistry,
    isLed,
    running,
    closeHub: hub.close,
    ending,
  };
}
