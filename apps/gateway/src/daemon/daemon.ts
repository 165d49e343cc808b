// Runs the daemon: starts the parts in order and stops them in reverse. Failures show in its state and heal
// without a restart (I10). The steps are the other files of this folder.
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { clockTrouble, type LoadedConfig, gatewayTokenIn, newToken } from "@parley/config";
import { Fault, isFault, type Clock, type Ids, version } from "@parley/protocol";
import { assemble } from "./assemble.ts";
import { openChannels } from "./channels.ts";
import { settleConfigFile } from "./config-file.ts";
import { daemonLog } from "../log/daemon-log.ts";
import { scheduledBackups } from "../maintenance/scheduled-backups.ts";
import { forgetMediaRegularly } from "../maintenance/media-retention.ts";
import { openStore } from "./open-store.ts";
import { reloading } from "./reloading.ts";
import { keepStatusFile } from "./status-file.ts";
import { stopParts } from "./stop-parts.ts";
import { gatewayEvents } from "../hooks/gateway-events.ts";
import { applyRetentionRegularly, checkStoreRegularly, sweepRegularly } from "./periodic-work.ts";
import { databaseJobs } from "../maintenance/database-jobs.ts";
import { gatewayMetrics } from "../metrics/gateway-metrics.ts";
import { takePlace, type Role } from "@parley/cluster";
import { systemdNotify } from "./notify.ts";
import { traced } from "./traced.ts";
import { refusalLog } from "@parley/access";
import type { Reloader } from "../reload/reloader.ts";
import { restartSignal } from "./restart.ts";
import { crashLoop, type SafeMode } from "./safe-mode.ts";
import { warmUp } from "./warm-up.ts";
import { keepWatchdog, watchdogEveryMs } from "./watchdog.ts";
import { wireBus } from "../wiring/store.ts";

export interface DaemonOptions extends LoadedConfig {
  readonly env: { readonly [name: string]: string | undefined };
  /** This process's role among several; `all` by default. */
  readonly role?: Role;
  /** Its name among them; the host's by default. */
  readonly node?: string;
  /** Overrides the config's port. */
  readonly port?: number;
  /** The entry of this program, run again for long work on the database file. */
  readonly program: string;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Readable log lines for a terminal instead of JSON. */
  readonly pretty: boolean;
  /** Called when the store can no longer be trusted: the process has to end. */
  readonly onFatal: () => void;
  /** Asks for a stop and a new start of this program; absent: it can only be stopped. */
  readonly restart?: () => void;
}

export interface Daemon {
  /** The page's address with a login code that works once. */
  readonly loginUrl: string;
  /** Returns why a restart would not come up; null when no obstacle is known. */
  restartTrouble(): Promise<string | null>;
  /** Reads the config again and applies what changed. */
  readonly reload: Reloader["reload"];
  /** Stops taking work, lets running work end within its time budget, keeps the rest for the next start. */
  stop(signal: string): Promise<void>;
}

/**
 * Throws Fault: "conflict" when another daemon has the home, "invalid" and others when a person has to act.
 */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { config, places, env, role = "all", onFatal, clock, ids } = options;
  const { home } = places;
  await mkdir(home, { recursive: true, mode: 0o700 });
  const shared = config.store.driver === "redis";
  if (role !== "all" && !shared)
    throw new Fault(
      "invalid",
      `--role ${role} is for several processes on one store: set store.driver to "redis" (docs/scale-out.md)`,
    );
  const place = takePlace({ home, pid: process.pid, name: options.node, shared });
  const lines = await daemonLog({ config, home, node: place.name, pretty: options.pretty, clock });
  const { log, hide, setLevel } = lines;
  await settleConfigFile(options, log);
  const wrongClock = clockTrouble(clock.now());
  if (wrongClock !== null) log.warn({}, wrongClock);
  const token = config.gateway.auth.token?.reveal() ?? (await gatewayTokenIn(places.tokenPath, ids));
  const localToken = newToken(ids);
  hide(token);
  hide(localToken);

  const bootId = ids.uuid();
  const counted = gatewayMetrics(clock);
  const traces = await traced(counted, { config, node: place.name, bootId, clock, log });
  const { metrics } = traces;
  const told = { count: metrics.refused, clock };
  const refusals = refusalLog({
    ...told,
    say: (fields, message) => log.warn({ part: "control", ...fields }, message),
  });
  const strangers = refusalLog({
    ...told,
    say: (fields, message) => log.info({ part: "admission", ...fields }, message),
  });
  const jobs = databaseJobs(options.program);
  const { store, damage } = await openStore({
    config,
    home,
    place,
    bootId,
    metrics,
    jobs,
    onFatal,
    clock,
    log,
  });
  const bus = await wireBus(config, ids, log);
  const configs = reloading(clock);
  let held: SafeMode | null = null;
  const resume = async (): Promise<boolean> => (await held?.resume()) ?? false;
  const parts = await assemble({
    ...options,
    role,
    place,
    bus,
    secrets: lines,
    store,
    damage,
    reloading: configs,
    resume,
    jobs,
    metrics,
    refusals,
    strangers,
    recentLog: lines.book,
    token,
    localToken,
    bootId,
    log,
  }).catch(async (error: unknown) => {
    // A refused start, such as a taken port, is no crash: three starts without an end would look like a crash
    // loop.
    if (isFault(error)) await Promise.all([bus.close(), store.close()]);
    throw error;
  });

  const stopSweeping = sweepRegularly(store, clock, log);
  const stopForgetting = forgetMediaRegularly({
    folder: join(home, "media"),
    store,
    limits: () => parts.configNow().media,
    clock,
    log,
  });
  const stopRetaining = applyRetentionRegularly({ configNow: parts.configNow, store, home, clock, log });
  const backups = scheduledBackups({
    database: store.file,
    home,
    settings: () => parts.configNow().backup,
    jobs,
    clock,
    log,
  });
  const notify = systemdNotify(env, log);
  const alone = [...parts.wired.channels.keys()].filter((account) => !parts.isLed(account));
  const pools = parts.path.start(undefined, { turns: role !== "edge", accounts: alone });
  const loopReason = await crashLoop(await store.bootHistory(), home, clock.now());
  parts.running.pools = pools;
  held = await openChannels(parts, loopReason, clock, log);
  configs.begin({ loaded: options, env, parts, pools, hide, setLevel, clock, log });
  metrics.watch({
    store,
    channels: () => [...parts.wired.channels.values()].filter(parts.state.hears),
    state: parts.state,
    turnsRunning: pools.turnsRunning,
    deliveriesRunning: pools.deliveriesRunning,
    backups,
    stableMoves: parts.path.turnPreparer.stableMoves,
    heartbeats: () => parts.path.work.heartbeats.counts,
    proposals: () => parts.path.upkeep.list(),
    slots: () => parts.path.work.slotsNow(),
    connections: parts.control.connections,
    devices: parts.machinePorts.deviceCalls,
    pushes: parts.machinePorts.devicePush,
    reloads: configs.counts,
    configTrouble: () => configs.state().problems.length > 0,
    version,
  });
  const stopChecking = checkStoreRegularly(parts.state, clock, log);
  // Nodes may share a home, and its status file could only tell of one of them.
  const stopTelling = shared ? () => {} : keepStatusFile({ home, status: parts.control.status, clock, log });
  notify("READY=1");
  const stopWatchdog = keepWatchdog(watchdogEveryMs(env, process.pid), store, notify, clock);
  const loginUrl = await parts.control.loginUrl();
  const { url } = parts.control;
  const hooked = gatewayEvents({
    port: parts.path.heard.port,
    cells: store.cells,
    others: shared
      ? async () => (await parts.nodeRegistry.list()).filter(({ node, up }) => up && node !== place.name)
      : null,
    bootId,
    clock,
  });
  if (role !== "edge" && parts.state.phase() === "running")
    hooked.started().catch((error: unknown) => log.error({ error }, "hooks were not told of the start"));
  log.info(
    {
      version,
      bootId,
      node: place.name,
      role,
      pid: process.pid,
      home,
      url,
      model: config.agents.defaults.model.primary,
    },
    "ready",
  );
  const { prompts, turnPreparer } = parts.path;
  const stopWarming =
    role === "edge"
      ? () => {}
      : warmUp({
          prompt: { config: parts.configNow(), store, prompts, turnPreparer },
          channels: [...parts.wired.channels.values()],
          clock,
          log,
        });

  return {
    loginUrl,
    reload: configs.reload,
    restartTrouble: async () => (await parts.restarting?.trouble()) ?? null,
    async stop(signal) {
      log.info({ signal, turns: pools.turnsRunning(), deliveries: pools.deliveriesRunning() }, "stopping");
      notify(signal === restartSignal ? "RELOADING=1" : "STOPPING=1");
      await configs.stop();
      held?.cancel();
      await hooked.stopping(signal, signal === restartSignal);
      await stopParts(parts, pools, clock);
      jobs.stop();
      stopWarming();
      stopSweeping();
      stopForgetting();
      stopRetaining();
      backups.stop();
      stopChecking();
      stopTelling();
      metrics.stop();
      stopWatchdog();
      await traces.stop();
      await bus.close();
      await store.close();
      place.release();
      refusals.end();
      strangers.end();
      log.info({}, "stopped");
      lines.close();
    },
  };
}
