// Makes tools, skills, hooks and the table of secrets from the config.
import { homedir, platform } from "node:os";
import type { Redaction } from "@parley/agent";
import { secretValues, type Config, type Env } from "@parley/config";
import { type Clock } from "@parley/protocol";
import { rehearsalTools, type Tool } from "@parley/tools";
import { knownCommands } from "../commands/parse-command.ts";
import { type FileOrigins, skillRegistry, type SkillRegistry } from "@parley/runner";
import { hookRegistry, type HookRegistry, type HookRegistryOptions } from "../hooks/hook-registry.ts";
import { hooksFolder, skillsFolder } from "../installation.ts";

/** Returns the tools of this build. The rehearsal tools come with the rehearsal model only. */
export function wireTools(config: Config, clock: Clock, path: string): readonly Tool[] {
  return config.tools.rehearsal ? rehearsalTools(clock, path) : [];
}

export function wireSkills(
  config: Config,
  home: string,
  env: Env,
  origins?: Pick<FileOrigins, "of">,
): SkillRegistry {
  return skillRegistry({
    config,
    home,
    bundled: skillsFolder,
    env,
    userHome: homedir(),
    platform: platform(),
    reservedCommands: knownCommands(),
    origins,
  });
}

export function wireHooks(
  config: Config,
  { home, configPath, env, clock }: Pick<HookRegistryOptions, "home" | "configPath" | "env" | "clock">,
): HookRegistry {
  return hookRegistry({ config, configPath, home, bundled: hooksFolder, env, platform: platform(), clock });
}

/**
 * Hides the state folder under every name that a model may have learnt for it. `learnt`: secrets that became
 * known while the daemon runs; the same list until there is another.
 */
export function wireRedaction(
  config: Config,
  home: string,
  tokens: readonly string[],
  learnt: () => readonly string[],
): Redaction {
  const userHome = homedir();
  const spellings = (path: string): string[] => [
    path,
    ...(path.startsWith(`${userHome}/`) ? [`~${path.slice(userHome.length)}`] : []),
  ];
  const known = [...secretValues(config), ...tokens];
  let [last, all] = [[] as readonly string[], known];
  return {
    get secrets() {
      const now = learnt();
      if (now !== last) [last, all] = [now, [...known, ...now]];
      return all;
    },
    stateDirs: spellings(home),
    workspaces: config.agents.list.flatMap((agent) => spellings(agent.workspace)),
  };
}
