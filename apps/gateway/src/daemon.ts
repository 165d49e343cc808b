// The running daemon: starts the parts in order, stops them in reverse. Keeps I10: what is wrong shows in its state and heals without it.
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { ensureWorkspace } from "@parley/agent";
import type { Channel } from "@parley/channels";
import { configDesk, describeProblem, listenAddress, secretValues, type LoadedConfig } from "@parley/config";
import { accountKey, Fault, sleep, type Clock, type Ids, type Log } from "@parley/protocol";
import type { Bus, Waker } from "@parley/queue";
import type { Store } from "@parley/store";
import { connectedClients } from "./control/clients.ts";
import { deviceBook } from "./control/devices.ts";
import { gatewayTokenIn } from "./control/gateway-token.ts";
import { statusCommand } from "./commands/status.ts";
import { whyCommand } from "./commands/why.ts";
import { keepMenu } from "./command-menu.ts";
import { eventHub } from "./control/hub.ts";
import { controlServer, type ControlServer } from "./control/server.ts";
import { gatewayCore, type Core } from "./core.ts";
import { databaseJobs, type DatabaseJobs } from "./database-jobs.ts";
import { fullCheck } from "./full-check.ts";
import { houseOf } from "./house.ts";
import { movedChats } from "./inbound/moved-chats.ts";
import { logBook, type LogBook } from "./log-book.ts";
import { logger } from "./logger.ts";
import { findMessage } from "./methods/find-message.ts";
import { handlers } from "./methods/handlers.ts";
import { logStream } from "./methods/logs.ts";
import { storyTeller } from "./methods/story.ts";
import { systemdNotify } from "./notify.ts";
import { restartSignal } from "./restart.ts";
import { cluster, type Cluster } from "./nodes/cluster.ts";
import { freeLeaders } from "./nodes/leadership.ts";
import { takePlace, type NodePlace, type Role } from "./nodes/node-place.ts";
import { keepRoll, type Roll } from "./nodes/roll.ts";
import { sharedHub } from "./nodes/shared-hub.ts";
import { crashLoopReason, safeMode, type SafeMode } from "./safe-mode.ts";
import { gatewayState, type GatewayState } from "./state.ts";
import { turnPools, type Pools } from "./pools.ts";
import { bootstrapHooks } from "./turn/bootstrap-hooks.ts";
import { version } from "./version.ts";
import { keepWatchdog, watchdogEveryMs } from "./watchdog.ts";
import {
  templatesFolder,
  webAccount,
  webRoot,
  wireChannels,
  wireMedia,
  wireModels,
  wireProgress,
  wireRedaction,
  wireSkills,
  wireTools,
  type Wired,
} from "./wiring.ts";
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
  const { log, hide } = await logger({
    level: config.logging.level,
    pretty: options.pretty,
    secrets: secretValues(config),
    onLine: book.add,
  });
  for (const warning of options.warnings) log.warn({}, describeProblem(options.path, warning));
  const token = config.gateway.auth.token?.reveal() ?? (await gatewayTokenIn(places.tokenPath, ids));
  hide(token);

  const bootId = ids.uuid();
  const store = await wireStore({
    config,
    home: places.home,
    bootId,
    exclusive: true,
    node: place.name,
    onFatal: options.onFatal,
    clock,
    log,
  });
  if (place.deadBoot !== null) await freeDead(store, place.deadBoot, log);
  place.settle(bootId);
  const bus = await wireBus(config, log);
  const jobs = databaseJobs(options.program);
  const damage = store.unclean && store.file !== null ? fullCheck(jobs, store.file, log) : () => null;
  let held: SafeMode | null = null;
  const resume = async (): Promise<boolean> => (await held?.resume()) ?? false;
  const parts = await assemble({ ...options, role, place, bus, logBook: book, store, bootId, token, log, jobs, damage, resume });
  const stopSweeping = sweepNowAndThen(store, clock, log);
  const notify = systemdNotify(options.env, log);
  const alone = [...parts.wired.channels.keys()].filter((account) => !parts.isLed(account));
  const pools = parts.core.start(undefined, { turns: role !== "edge", accounts: alone });
  const loopReason = crashLoopReason(await store.bootHistory(), clock.now());
  parts.running.pools = pools;
  held = await openChannels(parts, loopReason, clock, log);
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
    async stop(signal) {
      log.info({ signal, turns: pools.turnsRunning(), deliveries: pools.deliveriesRunning() }, "stopping");
      notify(signal === restartSignal ? "RELOADING=1" : "STOPPING=1");
      held?.cancel();
      await stopParts(parts, pools, clock);
      jobs.stop();
      stopSweeping();
      stopWatchdog();
      await bus.close();
      await store.close();
      place.release();
      log.info({}, "stopped");
    },
  };
}

/** Its lock proves the process that stood in this place dead: what it held is free at once. */
async function freeDead(store: WiredStore, boot: string, log: Log): Promise<void> {
  const leases = await store.freeLeases({ holder: boot });
  await freeLeaders(store.cells, boot);
  if (leases > 0) log.info({ boot, leases }, "freed what the process before this one held");
}

interface Parts {
  readonly core: Core;
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
  readonly logBook: LogBook;
}

async function assemble(options: Assembly): Promise<Parts> {
  const { config, store, clock, ids, log, bootId, env, bus, role } = options;
  for (const agent of config.agents.list) await ensureWorkspace(agent.workspace, templatesFolder);
  const hub = sharedHub(eventHub(), bus, clock);
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
  const state = gatewayState(store, () => [...wired.channels.values()].filter((channel) => nodes?.hears(channel) ?? true), options.damage);
  const running: Parts["running"] = { pools: null };
  const skills = wireSkills(config, options.places.home, env);
  const models = wireModels(config, mediaPath, clock, log);
  const hands = await wireHands({ config, home: options.places.home, mediaPath, env, clock, ids, log }, store.cells);
  const core: Core = gatewayCore({
    config,
    store,
    onReady: waker.onReady,
    channels: nodes?.channels ?? wired.channels,
    ...(nodes === null ? {} : { settleEdits: nodes.settleEdits }),
    moved,
    models,
    media: wireMedia(config, mediaPath, clock),
    tools: wireTools(config, clock, env["PATH"] ?? "/usr/bin:/bin"),
    hands,
    hooks: bootstrapHooks(config, options.path, clock),
    commands: [
      statusCommand({
        sessions: store.sessions,
        inbox: store.inbox,
        queue: config.messages.queue,
        report: state.report,
        turnOf: ({ inbound: { address, guild, parent }, route: { agent } }, session) =>
          core.setUp.prompt({
            agent,
            session,
            place: { address, ...(guild === undefined ? {} : { guild }), ...(parent === undefined ? {} : { parent }) },
          }),
      }),
      whyCommand({ inbox: store.inbox, find: findMessage(store.inbox, store.outbox), tell: storyTeller({ ...store, clock }) }),
    ],
    showProgress: wireProgress({ hub, clock }),
    redaction: wireRedaction(config, options.places.home, options.token),
    skills,
    house: await houseOf(config, options.places.home, env["SHELL"], ids),
    bootId,
    clock,
    ids,
    log,
  });
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
      config,
      configPath: options.path,
      databasePath: store.file,
      store,
      core,
      models,
      wired,
      state,
      skills,
      desk: configDesk({ env, home: options.places.home }),
      takeUp: async (changed) => changed,
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
    webRoot,
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
  return { core, wired, waker, control, hands, state, setMenu, cluster: nodes, roll, isLed, running, closeHub: hub.close, ending };
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
      all.filter((channel) => channel !== parts.wired.web),
      log,
    );
    parts.state.enter("running");
  });
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
  await hands.exec.commands.end();
  await nodes?.handOver();
  await roll.leave();
  nodes?.close();
  parts.closeHub();
  await waker.close();
  await control.close();
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
