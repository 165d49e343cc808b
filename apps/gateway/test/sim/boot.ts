// Boots the real message path over simulated ports, as the daemon does, and again after each death.
import { noProgress } from "../../src/turn/progress.ts";
import { gatewayCore, type Core } from "../../src/core.ts";
import { movedChats } from "../../src/inbound/moved-chats.ts";
import type { Pools } from "../../src/pools.ts";
import { noRedaction } from "@parley/agent";
import type { Channel } from "@parley/channels";
import { cooldowns, withFallbacks } from "@parley/models";
import { silentLog, type Log } from "@parley/protocol";
import type { Store } from "@parley/store";
import { seededIds } from "@parley/testkit";
import { account, polledChannel, pushedChannel, type DriverFlaws } from "./channels.ts";
import { gatewayChannel, type DiscordMemory } from "./discord.ts";
import type { Life } from "./life.ts";
import { simulatedModel, type ModelBook } from "./model.ts";
import type { Platform } from "./platform.ts";
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
  readonly models: ModelBook;
  readonly effects: Effects;
  readonly flaws: DriverFlaws;
  readonly nth: number;
}

export interface Booted {
  readonly core: Core;
  readonly pools: Pools;
  readonly channels: readonly Channel[];
}

export async function boot(options: BootOptions): Promise<Booted> {
  const { world, life, models } = options;
  const { clock } = life;
  const ids = seededIds(world.plan.seed * 31 + options.nth);
  const log = simulatedLog(world);
  const channels = new Map<string, Channel>();
  for (const [name, platform] of options.platforms) {
    channels.set(`${name}:${account}`, driverOf(options, name, platform));
  }
  const model = withFallbacks([simulatedModel(world, life, models)], { clock, ids, log, cooldowns: cooldowns(clock) });
  const tools = simulatedTools(life, options.effects);
  const config = simulatedConfig(world.plan);
  const core = gatewayCore({
    config,
    store: options.store,
    channels,
    // No chat of the simulation moves, so there is nothing to load.
    moved: movedChats(options.store.cells),
    models: { get: async () => model, list: () => [] },
    tools,
    hooks: [],
    commands: [],
    showProgress: () => noProgress,
    redaction: noRedaction,
    // Files and prompt are no part of the message path; reading them would bring the disk's own timing in.
    forTurn: async () => ({
      model,
      system: { stable: "", volatile: "" },
      tools,
      workspace: "/nowhere",
      thinking: "off",
      timeoutMs: config.agents.defaults.timeoutSeconds * 1_000,
      spill: async () => "",
    }),
    bootId: life.bootId,
    clock,
    ids,
    log,
  });
  const pools = core.start();
  await Promise.all([...channels.values()].map((channel) => channel.start((events) => core.receive(events))));
  return { core, pools, channels: [...channels.values()] };
}

function driverOf({ world, life, discord, flaws }: BootOptions, name: string, platform: Platform): Channel {
  switch (name) {
    case "telegram":
      return polledChannel(world, life, platform, flaws);
    case "discord":
      return gatewayChannel(world, life, platform, discord, flaws);
    default:
      return pushedChannel(world, life, platform);
  }
}

/** Warnings stand in the history; an error is a bug, except where a law allows it. */
function simulatedLog(world: World): Log {
  const log: Log = {
    ...silentLog,
    warn: (fields, message) => world.note(`warn: ${message} ${told(fields)}`),
    error(fields, message) {
      world.note(`error: ${message} ${told(fields)}`);
      if (message.includes("by a bug") || message.includes("could not bury")) world.broken("bug", `${message}: ${told(fields)}`);
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
