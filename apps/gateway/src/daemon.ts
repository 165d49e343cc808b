// The running daemon: starts the parts in order, stops them in reverse. Keeps I10: what is wrong shows in its state and heals without it.
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Channel } from "@parley/channels";
import {
  configDesk,
  describeProblem,
  listenAddress,
  restartKeys,
  rewriteMigrated,
  secretValues,
  type Config,
  type LoadedConfig,
} from "@parley/config";
import { accountKey, Fault, isFault, sleep, type Clock, type Ids, type Log } from "@parley/protocol";
import type { Bus, Waker } from "@parley/queue";
import type { Store } from "@parley/store";
import { connectedClients } from "./control/clients.ts";
import { deviceBook } from "./control/devices.ts";
import { gatewayTokenIn } from "./control/gateway-token.ts";
import { keepMenu } from "./command-menu.ts";
import { eventHub } from "./control/hub.ts";
import { controlServer, type ControlServer } from "./control/server.ts";
import type { Core } from "./core.ts";
import { databaseJobs, type DatabaseJobs } from "./database-jobs.ts";
import { fullCheck } from "./full-check.ts";
import { movedChats } from "./inbound/moved-chats.ts";
import { logBook, type LogBook } from "./log-book.ts";
import { logFile, type LogFile } from "./log-file.ts";
import { logger } from "./logger.ts";
import { livePath, messagePaths, type MessagePath } from "./message-path.ts";
import { gatewayMetrics, type GatewayMetrics } from "./metrics/gateway-metrics.ts";
import { handlers } from "./methods/handlers.ts";
import { logStream } from "./methods/logs.ts";
import { systemdNotify } from "./notify.ts";
import { restartSignal } from "./restart.ts";
import { cluster, type Cluster } from "./nodes/cluster.ts";
import { freeLeaders } from "./nodes/leadership.ts";
import { takePlace, type NodePlace, type Role } from "./nodes/node-place.ts";
import { keepRoll, type Roll } from "./nodes/roll.ts";
import { hubOfNodes } from "./nodes/hub-of-nodes.ts";
import { programDesk } from "./programs/desk.ts";
import { reloader, type Reloader } from "./reload/reloader.ts";
import { takeUp, type TakeUpOptions } from "./reload/take-up.ts";
import { crashLoopReason, safeMode, type SafeMode } from "./safe-mode.ts";
import { gatewayState, type GatewayState } from "./state.ts";
import { turnPools, type Pools } from "./pools.ts";
import { version } from "./version.ts";
import { keepWatchdog, watchdogEveryMs } from "./watchdog.ts";
import { webAccount, webRoot, wireChannels, type Wired } from "./wiring.ts";
import { wireHands, type WiredHands } from "./wiring-hands.ts";
import { wireBus, wireStore, wireWaker, type WiredStore } from "./wiring-store.ts";

export interface DaemonOptions extends LoadedConfig {
  readonly env: { readonly [name: string]: string | undefined };
  /** What this process does among several; all by default. */
  readonly role?: Role;
  /** Its name among them; the host's by default. */
  readonly node?: string;
  /** Listens here instead of where the config says. */
  readonly port?: number;
  /** The entry of this program, run again for long work on the database file. */
  readonly program: string;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Logs for a person's eyes instead of JSON. */
  readonly pretty: boolean;
  /** The store can no longer be trusted: the process has to end. */
  readonly onFatal: () => void;
  /** Asks for a stop and a new start of this program; absent: it can only be stopped. */
  readonly restart?: () => void;
}

export interface Daemon {
  /** The page's address with a login code that works once. */
  readonly loginUrl: string;
  /** Reads the config again and takes up what changed. */
  readonly reload: Reloader["reload"];
  /** Stops taking, lets running work end within its budget, keeps the rest for the next start. */
  stop(signal: string): Promise<void>;
}

/** systemd gives 90 s by default before it kills; the unit file gives more. */
const drainBudgets = { turnsMs: 25_000, flushMs: 10_000 } as const;
/** A channel waits for what it is just receiving; more than this is no waiting any more. */
const channelStopMs = 10_000;
/** Time for the answer to whoever asked for a restart. */
const restartDelayMs = 50;
const sweepEveryMs = 60_000;
const sweepRows = 500;
/** The look is a write: an idle disk may sleep in between. */
const lookEveryMs = 10_000;

/** Throws Fault: "conflict" when another daemon has the home, "invalid" and others when a person has to act. */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { config, places, clock, ids } = options;
  await mkdir(places.home, { recursive: true, mode: 0o700 });
  const shared = config.store.driver === "redis";
  const role = options.role ?? "all";
  if (role !== "all" && !shared)
    throw new Fault("invalid", `--role ${role} is for several processes on one store: set store.driver to "redis" (docs/scale-out.md)`);
  const place = takePlace({ home: places.home, pid: process.pid, name: options.node, shared });
  const book = logBook();
  const file = fileOf(config, places.home, place.name, clock);
  const { log, hide, setLevel } = await logger({
    level: config.logging.level,
    pretty: options.pretty,
    secrets: secretValues(config),
    onLine(line) {
      book.add(line);
      file?.write(line);
    },
  });
  await bringUpToDate(options.path, log);
  for (const warning of options.warnings) log.warn({}, describeProblem(options.path, warning));
  const token = config.gateway.auth.token?.reveal() ?? (await gatewayTokenIn(places.tokenPath, ids));
  hide(token);

  const bootId = ids.uuid();
  const metrics = gatewayMetrics(clock);
  const opened = await wireStore({
    config,
    home: places.home,
    bootId,
    exclusive: true,
    node: place.name,
    onFatal: options.onFatal,
    clock,
    log,
  });
  const store = metrics.store(opened);
  if (place.deadBoot !== null) await freeDead(store, place.deadBoot, log);
  place.settle(bootId);
  const bus = await wireBus(config, ids, log);
  const jobs = databaseJobs(options.program);
  const damage = store.unclean && store.file !== null ? fullCheck(jobs, store.file, log) : () => null;
  let held: SafeMode | null = null;
  const resume = async (): Promise<boolean> => (await held?.resume()) ?? false;
  let reloading: Reloader | null = null;
  const reload: Reloader["reload"] = async (cause) => {
    if (reloading === null) throw new Fault("unavailable", "the gateway is just starting, and reads its config anyway");
    return reloading.reload(cause);
  };
  const startedAtMs = clock.now();
  const configState: Reloader["state"] = () => reloading?.state() ?? { takenAtMs: startedAtMs, problems: [], restartNeeded: [] };
  const parts = await assemble({
    ...options,
    role,
    place,
    bus,
    logBook: book,
    store,
    bootId,
    token,
    log,
    jobs,
    damage,
    resume,
    reload,
    configState,
    metrics,
  });
  const stopSweeping = sweepNowAndThen(store, clock, log);
  const notify = systemdNotify(options.env, log);
  const alone = [...parts.wired.channels.keys()].filter((account) => !parts.isLed(account));
  const pools = parts.core.start(undefined, { turns: role !== "edge", accounts: alone });
  const loopReason = crashLoopReason(await store.bootHistory(), clock.now());
  parts.running.pools = pools;
  held = await openChannels(parts, loopReason, clock, log);
  reloading = reloader({
    loaded: options,
    env: options.env,
    takeUp: takeUp({
      ...channelHand(parts, () => parts.state.phase() !== "safe-mode", log),
      wired: parts.wired,
      waker: parts.waker,
      build: parts.pathOf,
      use: parts.use,
      isLed: parts.isLed,
      pools: () => pools,
      hide,
      setLevel,
      clock,
      log,
    }),
    clock,
    log,
  });
  metrics.watch({
    store,
    channels: () => [...parts.wired.channels.values()],
    state: parts.state,
    turnsRunning: pools.turnsRunning,
    deliveriesRunning: pools.deliveriesRunning,
    stableMoves: parts.core.setUp.stableMoves,
    connections: parts.control.connections,
    reloads: () => reloading?.counts() ?? { taken: 0, refused: 0 },
    configTrouble: () => configState().problems.length > 0,
    version,
  });
  const stopLooking = lookNowAndThen(parts.state, clock);
  notify("READY=1");
  const stopWatchdog = keepWatchdog(watchdogEveryMs(options.env, process.pid), store, notify, clock);
  const loginUrl = await parts.control.loginUrl();
  log.info(
    {
      version,
      bootId,
      node: place.name,
      role,
      pid: process.pid,
      home: places.home,
      url: parts.control.url,
      model: config.agents.defaults.model.primary,
    },
    "ready",
  );

  return {
    loginUrl,
    reload,
    async stop(signal) {
      log.info({ signal, turns: pools.turnsRunning(), deliveries: pools.deliveriesRunning() }, "stopping");
      notify(signal === restartSignal ? "RELOADING=1" : "STOPPING=1");
      await reloading?.stop();
      held?.cancel();
      await stopParts(parts, pools, clock);
      jobs.stop();
      stopSweeping();
      stopLooking();
      metrics.stop();
      stopWatchdog();
      await bus.close();
      await store.close();
      place.release();
      log.info({}, "stopped");
      file?.close();
    },
  };
}

/** Its lock proves the process that stood in this place dead: what it held is free at once. */
async function freeDead(store: WiredStore, boot: string, log: Log): Promise<void> {
  const leases = await store.freeLeases({ holder: boot });
  await freeLeaders(store.cells, boot);
  if (leases > 0) log.info({ boot, leases }, "freed what the process before this one held");
}

/** A file of an older version is rewritten, and kept as it was beside it. Where it cannot be written it is understood all the same. */
async function bringUpToDate(path: string, log: Log): Promise<void> {
  try {
    const rewritten = await rewriteMigrated(path);
    if (rewritten !== null) log.info({ path, ...rewritten }, "the config file was brought to this version");
  } catch (error) {
    if (!isFault(error)) throw error;
    log.warn({ path, error }, "the config file is of an older version and could not be rewritten");
  }
}

/** Null where the config wants none. Nodes that share a home have a file each. */
function fileOf({ logging, store }: Config, home: string, node: string | null, clock: Clock): LogFile | null {
  const { enabled, maxMegabytes, keep } = logging.file;
  if (!enabled) return null;
  const name = store.driver === "redis" && node !== null ? `parley-${node.replaceAll(/[^\w.-]/g, "_")}` : "parley";
  return logFile({ folder: join(home, "logs"), name, maxBytes: maxMegabytes * 1_000_000, keep, clock });
}

interface Parts {
  readonly core: Core;
  readonly pathOf: (config: Config) => Promise<MessagePath>;
  /** Everything is done by this one from then on. */
  readonly use: (path: MessagePath) => void;
  readonly wired: Wired;
  readonly waker: Waker;
  readonly control: ControlServer;
  readonly hands: WiredHands;
  readonly state: GatewayState;
  readonly setMenu: (channel: Channel, signal?: AbortSignal) => Promise<void>;
  /** Null where this process is alone on its store. */
  readonly cluster: Cluster | null;
  readonly roll: Roll;
  /** Whether the account is connected and delivered for by the one node that leads it. */
  readonly isLed: (account: string) => boolean;
  /** What is made last. */
  readonly running: { pools: Pools | null };
  readonly closeHub: () => void;
  /** Aborted when the daemon stops. */
  readonly ending: AbortController;
}

interface Assembly extends DaemonOptions {
  readonly role: Role;
  readonly place: NodePlace;
  readonly bus: Bus;
  readonly store: WiredStore;
  readonly bootId: string;
  readonly token: string;
  readonly log: Log;
  readonly jobs: DatabaseJobs;
  readonly damage: () => string | null;
  readonly resume: () => Promise<boolean>;
  readonly reload: Reloader["reload"];
  readonly configState: Reloader["state"];
  readonly metrics: GatewayMetrics;
  readonly logBook: LogBook;
}

async function assemble(options: Assembly): Promise<Parts> {
  const { config, store, clock, ids, log, bootId, env, bus, role } = options;
  const hub = hubOfNodes(eventHub(), bus, clock);
  const book = movedChats(store.cells);
  await book.load();
  const moved = {
    ...book,
    learn: async (...move: Parameters<typeof book.learn>) => {
      await book.learn(...move);
      bus.tell("moved", "");
    },
  };
  bus.hear("moved", () => void book.load().catch((error: unknown) => log.warn({ error }, "moved chats could not be read")));
  const mediaPath = join(options.places.home, "media");
  const wired = await wireChannels({ config, store, hub, mediaFolder: mediaPath, moved, clock, ids, log });
  const nodes = bus.shared ? cluster({ role, node: options.place.name, bootId, store, bus, wired, clock, log }) : null;
  const isLed = (account: string): boolean => nodes !== null && wired.channels.get(account) !== wired.web;
  const served = [...wired.channels.keys()].filter((account) => !isLed(account));
  const waker = await wireWaker(config, { store, pools: [...(role === "edge" ? [] : turnPools), ...served], clock, log });
  const state = gatewayState(
    store,
    () => [...wired.channels.values()].filter((channel) => nodes?.hears(channel) ?? true),
    options.damage,
    () => options.configState().problems,
  );
  const running: Parts["running"] = { pools: null };
  const desk = configDesk({ env, home: options.places.home });
  const hands = await wireHands({ ...options, home: options.places.home, mediaPath, desk }, store);
  const pathOf = messagePaths({
    store,
    onReady: waker.onReady,
    channels: nodes?.channels ?? wired.channels,
    ...(nodes === null ? {} : { settleEdits: nodes.settleEdits }),
    hands,
    moved,
    places: options.places,
    configPath: options.path,
    env,
    token: options.token,
    hub,
    state,
    watched: options.metrics.models,
    bootId,
    clock,
    ids,
    log,
  });
  let path = await pathOf(config);
  const { core, models, skills } = livePath(() => path);
  const use = (next: MessagePath): void => void (path = next);
  const devices = deviceBook(store.cells, clock, ids);
  const clients = connectedClients();
  options.logBook.follow((line) => hub.show(logStream, "log.line", { line }));
  const control: ControlServer = await controlServer({
    host: listenAddress(config.gateway.bind),
    port: options.port ?? config.gateway.port,
    allowedHosts: config.gateway.allowedHosts,
    token: options.token,
    devices,
    clients,
    cells: store.cells,
    events: store.events,
    hub,
    handlers: handlers({
      get config() {
        return path.config;
      },
      configPath: options.path,
      databasePath: store.file,
      store,
      core,
      models,
      wired,
      state,
      skills,
      desk,
      takeUp: async (changed) => {
        await options.reload("a method changed the file");
        return restartKeys(changed);
      },
      reload: options.reload,
      configState: options.configState,
      devices,
      clients,
      loginUrl: (granted) => control.loginUrl(granted),
      logBook: options.logBook,
      restart: (reason) => {
        if (options.restart === undefined) throw new Fault("unsupported", "this gateway can only be stopped, and started again by hand");
        log.info({ reason }, "a restart was asked for");
        clock.after(restartDelayMs, options.restart);
      },
      ids,
      jobs: options.jobs,
      resume: options.resume,
      bootId,
      clock,
    }),
    health: state.ready,
    webhook: (account) => wired.webhooks.get(account) ?? null,
    desk: programDesk({ ...store, receive: (events) => core.receive(events), isOpen: () => state.phase() === "running", hub, clock }),
    agents: () => path.config.agents.list.map(({ id }) => id),
    hooks: () => path.config.hooks,
    webRoot,
    ...(config.gateway.metrics.enabled
      ? { metrics: { text: options.metrics.text, openOnLoopback: () => path.config.gateway.metrics.openOnLoopback } }
      : {}),
    webAccount,
    version,
    bootId,
    clock,
    ids,
    log: log.child({ part: "control" }),
  });
  core.running.tellOthers((turn) => bus.tell("stop", turn));
  bus.hear("stop", core.running.heard);
  const startedAtMs = clock.now();
  const roll = keepRoll({
    cells: store.cells,
    line: () => ({
      node: options.place.name,
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
  const setMenu = (channel: Channel, signal = ending.signal): Promise<void> =>
    keepMenu({
      channel,
      menuNow: () => core.menu({ channel: channel.name, account: channel.account }),
      cells: store.cells,
      clock,
      log,
      signal: AbortSignal.any([signal, ending.signal]),
    });
  return {
    core,
    pathOf,
    use,
    wired,
    waker,
    control,
    hands,
    state,
    setMenu,
    cluster: nodes,
    roll,
    isLed,
    running,
    closeHub: hub.close,
    ending,
  };
}

/** In safe mode only the web chat opens, which is how an operator gets in. */
async function openChannels(parts: Parts, loopReason: string | null, clock: Clock, log: Log): Promise<SafeMode | null> {
  const all = [...parts.wired.channels.values()];
  if (loopReason === null) {
    await startChannels(parts, all, log);
    parts.state.enter("running");
    return null;
  }
  log.error({ reason: loopReason }, "safe mode");
  await startChannels(parts, [parts.wired.web], log);
  parts.state.enter("safe-mode", loopReason);
  return safeMode(clock, async () => {
    log.info({}, "safe mode ends");
    await startChannels(
      parts,
      [...parts.wired.channels.values()].filter((channel) => channel !== parts.wired.web),
      log,
    );
    parts.state.enter("running");
  });
}

/** Starts and stops single channels while the daemon runs; `opens`: whether others than the web chat may hear now. */
function channelHand(parts: Parts, opens: () => boolean, log: Log): Pick<TakeUpOptions, "start" | "stop"> {
  return {
    start: async (channel) => (opens() || channel === parts.wired.web ? startChannels(parts, [channel], log) : undefined),
    stop: (channel) => channel.stop(),
  };
}

/** A channel that cannot start must not keep the others from starting. Where nodes share accounts, each is started by who leads it. */
async function startChannels(parts: Parts, channels: readonly Channel[], log: Log): Promise<void> {
  const { core, state, setMenu, cluster: nodes, waker, running } = parts;
  const start = async (channel: Channel, signal?: AbortSignal): Promise<void> => {
    try {
      await channel.start(core.receive);
      // Nobody waits for it: messages are heard without a menu.
      setMenu(channel, signal).catch((error: unknown) =>
        log.warn({ channel: channel.name, account: channel.account, error }, "the menu is no longer kept"),
      );
    } catch (error) {
      log.error({ channel: channel.name, account: channel.account, error }, "a channel cannot start");
      state.channelFailed(channel, error);
    }
  };
  const led = channels.filter((channel) => parts.isLed(accountKey({ channel: channel.name, account: channel.account })));
  await Promise.all(channels.filter((channel) => !led.includes(channel)).map((channel) => start(channel)));
  if (running.pools !== null) await nodes?.open(led, { pools: running.pools, waker, startChannel: start });
}

async function stopParts(parts: Parts, pools: Pools, clock: Clock): Promise<void> {
  const { wired, waker, control, hands, state, ending, cluster: nodes, roll } = parts;
  state.enter("draining");
  ending.abort();
  // Where another node can lead, it does so now; the last one brings out what it can.
  const edges = nodes === null ? [] : await roll.list().catch(() => []);
  if (edges.some(({ up, role, pid, url }) => up && role !== "worker" && (pid !== process.pid || url !== control.url)))
    await nodes?.handOver();
  // One channel that cannot stop must not keep the turns from draining.
  const stopping = Promise.allSettled([...wired.channels.values()].map((channel) => channel.stop()));
  await Promise.race([stopping, sleep(clock, channelStopMs)]);
  await pools.drain(drainBudgets);
  await hands.end();
  await nodes?.handOver();
  await roll.leave();
  nodes?.close();
  parts.closeHub();
  await waker.close();
  await control.close();
}

/** So that anybody may ask whether the daemon is ready without the store being asked each time. */
function lookNowAndThen(state: Pick<GatewayState, "look">, clock: Clock): () => void {
  let stopped = false;
  const look = (): void => {
    void state.look().then(() => {
      if (!stopped) timer = clock.after(lookEveryMs, look);
    });
  };
  let timer = clock.after(0, look);
  return () => {
    stopped = true;
    timer.cancel();
  };
}

/** Retention in small slices, so that no turn ever waits for it. */
function sweepNowAndThen(store: Pick<Store, "sweep">, clock: Clock, log: Log): () => void {
  let stopped = false;
  let timer = clock.after(sweepEveryMs, sweep);
  function sweep(): void {
    store.sweep(sweepRows).then(
      (more) => {
        if (!stopped) timer = clock.after(more ? 100 : sweepEveryMs, sweep);
      },
      (error: unknown) => {
        log.warn({ error }, "retention failed, trying again later");
        if (!stopped) timer = clock.after(sweepEveryMs, sweep);
      },
    );
  }
  return () => {
    stopped = true;
    timer.cancel();
  };
}
