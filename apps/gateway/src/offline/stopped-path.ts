// Builds the message path while no daemon runs, over the daemon's config, files and store, with channels that
// stay unopened. It receives, runs and delivers nothing; decisions made here are durable, and the next daemon
// acts on them.
import { noRedaction } from "@parley/agent";
import type { Config, Places } from "@parley/config";
import { Fault, type Clock, type Ids, type Log } from "@parley/protocol";
import { conversationBindings, migratedChats, noRefusals } from "@parley/access";
import { bootstrapHooks, noProgress, toolHooks, turnPreparer } from "@parley/runner";
import type { Store } from "@parley/store";
import type { MemoryEngine } from "@parley/memory";
import type { Models } from "@parley/models";
import { installationFacts } from "../installation.ts";
import { messagePath, type MessagePath } from "../message-path.ts";
import { processMemory } from "../message-path/process-memory.ts";
import { idleMachinePorts } from "../wiring/machine-ports.ts";
import { mcpSettings, remoteTools, wireMcp } from "../wiring/mcp.ts";
import { wireSkills, wireTools } from "../wiring/wiring.ts";
import { unopenedChannels } from "../wiring/channels.ts";

export interface StoppedPathOptions {
  readonly config: Config;
  readonly configPath: string;
  readonly places: Places;
  readonly env: { readonly [name: string]: string | undefined };
  readonly models: Models;
  readonly memory: MemoryEngine;
  readonly store: Store;
  readonly bootId: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

export async function stoppedPath(options: StoppedPathOptions): Promise<MessagePath> {
  const { config, configPath, places, env, models, memory, store, bootId, clock, ids, log } = options;
  const moved = migratedChats(store.cells);
  const handOvers = conversationBindings(store.cells);
  await Promise.all([moved.load(), handOvers.load()]);
  const machinePorts = idleMachinePorts({ config, home: places.home, env, memory, clock, ids, log }, store);
  const mcp = wireMcp({
    store,
    home: places.home,
    env,
    configNow: () => config,
    refused: () => {},
    learn: () => {},
    clock,
    ids,
    log,
  });
  mcp.use(mcpSettings(config.mcp));
  return messagePath({
    config,
    store,
    onReady: store.onReady,
    channels: unopenedChannels(config),
    moved,
    handOvers,
    models,
    tools: wireTools(config, clock, env["PATH"] ?? "/usr/bin:/bin"),
    machinePorts: { ...machinePorts, remote: remoteTools(mcp) },
    mcp,
    hooks: bootstrapHooks(config, configPath, clock),
    toolHooks: toolHooks({ config, configPath, clock, log }),
    daemon: { report: notRunning, restart: notRunning, update: notRunning, updateCheck: notRunning },
    showProgress: () => noProgress,
    readMedia: notRunning,
    mediaFolder: { keep: notRunning },
    redaction: noRedaction,
    installation: await installationFacts(config, places.home, env["SHELL"], ids),
    skills: wireSkills(config, places.home, env, machinePorts.origins),
    preparer: turnPreparer,
    refusals: noRefusals,
    kept: processMemory(clock),
    bootId,
    clock,
    ids,
    log,
  });
}

export async function notRunning(): Promise<never> {
  throw new Fault("unavailable", "the gateway is not running. Start it with `parley start`");
}
