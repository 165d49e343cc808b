// Boots the real message path over simulated ports, as the daemon does, and again after each death.
import { turnPreparer } from "@parley/runner";
import { messagePath, type MessagePath } from "../../src/message-path.ts";
import { cluster, type Cluster, type NodeView, type Role } from "@parley/cluster";
import type { Pools, Bus } from "@parley/queue";
import type { WiredStore } from "../../src/wiring/store.ts";
import type { Wired } from "../../src/wiring/channels.ts";
import type { Channel, WebChannel } from "@parley/channels";
import { cooldowns, withFallbacks } from "@parley/models";
import { silentLog, type Clock, type Log } from "@parley/protocol";
import type { Store } from "@parley/store";
import { seededIds } from "@parley/testkit";
import { account, polledChannel, pushedChannel, type DriverFlaws } from "./channels.ts";
import { gatewayChannel, type DiscordMemory } from "./discord.ts";
import type { Life } from "./life.ts";
import { simulatedModel, type ModelCatalog } from "./model.ts";
import { plainParts } from "../plain-parts.ts";
import type { Platform } from "./platform.ts";
import { simulatedTurn } from "./prepared-turn.ts";
import { simulatedTools, type Effects } from "./tools.ts";
import { simulatedConfig } from "./world-config.ts";
import type { World } from "./world.ts";

export interface BootOptions {
  readonly world: World;
  readonly life: Life;
  /** The world's store, behind steps and a witness. */
  readonly store: Store;
  readonly platforms: ReadonlyMap<string, Platform>;
  readonly discord: DiscordMemory;
  readonly models: ModelCatalog;
  readonly effects: Effects;
  readonly flaws: DriverFlaws;
  readonly nth: number;
  /** One of several; absent: alone. */
  readonly seat?: Seat;
}

/** Where a process stands among others. */
interface Seat {
  readonly role: Role;
  readonly name: string;
  readonly bus: Bus;
  readonly freeLeases: WiredStore["freeLeases"];
  /** What its leaderships count by. */
  readonly leaderClock: Clock;
  /** Whether clients of the web chat are connected here. */
  readonly hasClients: () => boolean;
}

export interface Booted {
  readonly core: MessagePath;
  readonly pools: Pools;
  /** As they are now: each term of a leader makes its channel anew. */
  readonly channels: readonly Channel[];
  readonly cluster: Cluster | null;
}

/**
 * By the roll there is always a node that leads nothing: so accounts are left to others again and again, also
 * where there are none.
 */
const envied: NodeView = {
  node: "envied",
  boot: "envied",
  role: "edge",
  version: "",
  pid: 0,
  url: "",
  startedAtMs: 0,
  state: "running",
  turns: 0,
  deliveries: 0,
  leads: [],
  up: true,
  silentMs: 0,
};

export async function boot(options: BootOptions): Promise<Booted> {
  const { world, life, models } = options;
  const { clock } = life;
  const ids = seededIds(world.plan.seed * 31 + options.nth);
  const log = simulatedLog(world);
  const channels = new Map<string, Channel>();
  for (const [name, platform] of options.platforms) {
    channels.set(`${name}:${account}`, driverOf(options, name, platform));
  }
  const nodes = options.seat === undefined ? null : clusterOf(options, options.seat, channels, log);
  const isLed = (key: string): boolean => nodes !== null && key !== `web:${account}`;
  const model = withFallbacks([simulatedModel(world, life, models)], {
    clock,
    ids,
    log,
    cooldowns: cooldowns(clock),
  });
  const tools = simulatedTools(life, options.effects);
  const config = simulatedConfig(world.plan);
  const core = messagePath({
    ...plainParts({
      config,
      store: options.store,
      channels: nodes?.channels ?? channels,
      models: { get: async () => model, list: () => [] },
      bootId: life.bootId,
      clock,
      ids,
      log,
    }),
    ...(nodes === null ? {} : { settleEdits: nodes.settleEdits }),
    tools,
    preparer: (services) => ({
      ...turnPreparer(services),
      forTurn: async () => simulatedTurn(config, model, tools),
    }),
  });
  const alone = [...channels.keys()].filter((key) => !isLed(key));
  const pools = core.start(undefined, { turns: options.seat?.role !== "edge", accounts: alone });
  await Promise.all(
    alone.flatMap((key) => channels.get(key) ?? []).map((channel) => channel.start(core.receive)),
  );
  if (options.seat !== undefined && nodes !== null) {
    const { bus } = options.seat;
    core.running.tellOthers((turn) => bus.tell("stop", turn));
    bus.hear("stop", core.running.heard);
    const led = [...channels].flatMap(([key, channel]) => (isLed(key) ? [channel] : []));
    await nodes.open(led, {
      pools,
      workNotifier: { serve: () => () => {} },
      receive: core.receive,
      startChannel: (channel, _signal, receive) => channel.start(receive),
      nodeRegistry: { list: async () => [envied], othersLead: async () => true },
    });
  }
  return {
    core,
    pools,
    get channels() {
      return [...channels.values()];
    },
    cluster: nodes,
  };
}

function clusterOf(options: BootOptions, seat: Seat, channels: Map<string, Channel>, log: Log): Cluster {
  const { life, store, platforms } = options;
  const wired: Wired = {
    channels,
    // Only compared: nobody leads it.
    web: channels.get(`web:${account}`) as WebChannel,
    webhooks: new Map(),
    async renew(key) {
      const [name = ""] = key.split(":");
      const platform = platforms.get(name);
      if (platform === undefined) return null;
      const made = driverOf(options, name, platform);
      channels.set(key, made);
      return made;
    },
  };
  return cluster({
    role: seat.role,
    node: seat.name,
    bootId: life.bootId,
    store: { cells: store.cells, freeLeases: seat.freeLeases },
    bus: seat.bus,
    wired,
    clock: seat.leaderClock,
    log,
  });
}

function driverOf(
  { world, life, discord, flaws, seat }: BootOptions,
  name: string,
  platform: Platform,
): Channel {
  switch (name) {
    case "telegram":
      return polledChannel(world, life, platform, flaws);
    case "discord":
      return gatewayChannel(world, life, platform, discord, flaws);
    default:
      return pushedChannel(world, life, platform, name === "web" ? seat?.hasClients : undefined);
  }
}

/** Warnings stand in the history; an error is a bug, except where a law allows it. */
function simulatedLog(world: World): Log {
  const log: Log = {
    ...silentLog,
    warn: (fields, message) => world.note(`warn: ${message} ${told(fields)}`),
    error(fields, message) {
      world.note(`error: ${message} ${told(fields)}`);
      if (message.includes("by a bug") || message.includes("could not bury"))
        world.broken("bug", `${message}: ${told(fields)}`);
    },
    child: () => log,
  };
  return log;
}

function told(fields: { readonly [field: string]: unknown }): string {
  return Object.entries(fields)
    .map(([field, value]) => `${field}=${value instanceof Error ? value.message : String(value)}`)
    .join(" ");
}
