// Builds the message path of one config: everything between receiving and delivering. A reload builds the
// next path beside it, and turns that began here end here.
import { join } from "node:path";
import { ensureWorkspace } from "@parley/agent";
import type { Config, Places } from "@parley/config";
import type { Models } from "@parley/models";
import { isFault, type Fault, type Log } from "@parley/protocol";
import type { ChatRestart } from "../commands/decide/restart.ts";
import type { SelfUpdate } from "../update/self-update.ts";
import type { Hub } from "@parley/control";
import { messagePath, type MessagePath } from "../message-path.ts";
import type { HookProcesses } from "../hooks/hook-process.ts";
import type { HookRegistry } from "../hooks/hook-registry.ts";
import type { MessagePathParts } from "./parts.ts";
import type { HookParts } from "../hooks/heard.ts";
import { templatesFolder, installationFacts } from "../installation.ts";
import { warnOfConfig } from "./config-warnings.ts";
import { live } from "./live.ts";
import type { GatewayState } from "../gateway-state.ts";
import { bootstrapHooks, mediaReader, toolHooks, turnPreparer, type SkillRegistry } from "@parley/runner";
import { pageProgress } from "../wiring/page-progress.ts";
import { threadUse } from "../wiring/thread-use.ts";
import { wireHooks, wireRedaction, wireSkills, wireTools } from "../wiring/wiring.ts";
import { wireMedia, wireModels } from "../wiring/models.ts";

export interface ConfiguredPath {
  readonly config: Config;
  readonly path: MessagePath;
  readonly models: Models;
  readonly skills: SkillRegistry;
  readonly hooks: HookRegistry;
}

type FromConfig =
  | "config"
  | "models"
  | "readMedia"
  | "mediaFolder"
  | "tools"
  | "hooks"
  | "toolHooks"
  | "hookParts"
  | "daemon"
  | "showProgress"
  | "redaction"
  | "skills"
  | "installation"
  | "preparer"
  | "busy";

export interface PathsByConfigOptions extends Omit<MessagePathParts, FromConfig> {
  readonly places: Places;
  readonly configPath: string;
  readonly env: { readonly [name: string]: string | undefined };
  /** The gateway's own token, which no answer may show. */
  readonly token: string;
  /** The token of this run, which no answer may show either. */
  readonly localToken: string;
  /** Secrets that became known since the start. */
  readonly learnt: () => readonly string[];
  readonly hub: Hub;
  readonly state: Pick<GatewayState, "report">;
  readonly chatRestart: Pick<ChatRestart, "ask">;
  readonly selfUpdate: Pick<SelfUpdate, "ask" | "checkInWords">;
  readonly hookProcesses: HookProcesses;
  readonly hookCounted: HookParts["counted"];
  /** Wraps the models to observe every call. */
  readonly watched?: (models: Models) => Models;
}

/**
 * Returns a function that builds the path of a config; state in memory passes from one path to the next.
 * Rejects with Fault for a config that cannot be used.
 */
export function pathsByConfig(options: PathsByConfigOptions): (config: Config) => Promise<ConfiguredPath> {
  const {
    places,
    configPath,
    env,
    token,
    localToken,
    learnt,
    hub,
    state,
    chatRestart,
    selfUpdate,
    hookProcesses,
    hookCounted,
    watched = (models) => models,
    ...ports
  } = options;
  const { store, kept, clock, ids, log } = ports;
  const mediaPath = join(places.home, "media");
  const busy = threadUse();

  return async (config) => {
    // The config may hold another key now, so failed models get another try.
    kept.cooldowns.mended();
    await prepareWorkspaces(config.agents.list, log);
    const skills = wireSkills(config, places.home, env, ports.machinePorts?.origins);
    const hooks = wireHooks(config, { home: places.home, configPath, env, clock });
    const models = watched(wireModels(config, mediaPath, clock, log, token));
    const tools = wireTools(config, clock, env["PATH"] ?? "/usr/bin:/bin");
    const toolNames = tools.map(({ name }) => name);
    await warnOfConfig(config, { models, skills, toolNames }, log);
    const media = wireMedia(config, mediaPath, { pictures: ports.machinePorts?.pictures, env, clock });
    const path = messagePath({
      ...ports,
      config,
      models,
      readMedia: mediaReader(media, store.cells, clock, log),
      mediaFolder: media.folder,
      tools,
      hooks: bootstrapHooks(config, configPath, clock),
      toolHooks: toolHooks({ config, configPath, clock, log }),
      hookParts: { registry: hooks, processes: hookProcesses, counted: hookCounted, home: places.home },
      daemon: {
        report: state.report,
        restart: chatRestart.ask,
        update: selfUpdate.ask,
        updateCheck: selfUpdate.checkInWords,
      },
      showProgress: pageProgress({ hub, clock }),
      redaction: wireRedaction(config, places.home, [token, localToken], learnt),
      skills,
      installation: await installationFacts(config, places.home, env["SHELL"], ids),
      preparer: turnPreparer,
      busy,
    });
    return { config, path, models, skills, hooks };
  };
}

/**
 * An agent with an unusable workspace does not stop the others. Rejects with Fault when no workspace is
 * usable.
 */
async function prepareWorkspaces(agents: Config["agents"]["list"], log: Log): Promise<void> {
  const faults: Fault[] = [];
  for (const { id, workspace } of agents) {
    try {
      const { refused } = await ensureWorkspace(workspace, templatesFolder);
      if (refused !== undefined)
        log.warn({ agent: id, workspace, refused }, "the files of a new workspace could not be written");
    } catch (error) {
      if (!isFault(error, "unavailable")) throw error;
      faults.push(error);
      log.error({ agent: id, workspace, error }, "an agent cannot work");
    }
  }
  const [first] = faults;
  if (first !== undefined && faults.length === agents.length) throw first;
}

/** Stands for the current path, for parts that get it once: each call reaches the path in force. */
export function livePath(
  now: () => ConfiguredPath,
): Pick<ConfiguredPath, "path" | "models" | "skills" | "hooks"> {
  const path: MessagePath = {
    receive: (events) => now().path.receive(events),
    route: (inbound) => now().path.route(inbound),
    commands: live(() => now().path.commands),
    start: (work, ...how) => now().path.start(work ?? (() => now().path.work), ...how),
    work: live(() => now().path.work),
    models: live(() => now().path.models),
    pairing: live(() => now().path.pairing),
    owners: live(() => now().path.owners),
    forgetting: live(() => now().path.forgetting),
    talk: live(() => now().path.talk),
    upkeep: live(() => now().path.upkeep),
    keepOwnJobs: () => now().path.keepOwnJobs(),
    closed: live(() => now().path.closed),
    turnPreparer: live(() => now().path.turnPreparer),
    prompts: live(() => now().path.prompts),
    usage: live(() => now().path.usage),
    ledger: live(() => now().path.ledger),
    quarantine: live(() => now().path.quarantine),
    running: live(() => now().path.running),
    approvals: live(() => now().path.approvals),
    questions: live(() => now().path.questions),
    hold: live(() => now().path.hold),
    mcp: live(() => now().path.mcp),
    schedules: live(() => now().path.schedules),
    dropDeliveries: (...dropped) => now().path.dropDeliveries(...dropped),
    heard: live(() => now().path.heard),
    reach: (place) => now().path.reach(place),
    stop: live(() => now().path.stop),
  };
  return {
    path,
    models: live(() => now().models),
    skills: live(() => now().skills),
    hooks: live(() => now().hooks),
  };
}
