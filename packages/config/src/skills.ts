// Completes skills.*: makes folders absolute and wraps in a Secret whatever looks like a credential, so that
// logs and answers hide it.
import { isCredential } from "./credentials.ts";
import { expandPath } from "./home.ts";
import type { AgentConfig, AgentDefaults } from "./agent-config.ts";
import type { SkillEntryConfig, SkillsConfig } from "./config.ts";
import type { ConfigFile } from "./schema/root.ts";
import { secret } from "./secret.ts";

export function skillsOf(file: ConfigFile["skills"], home: string): SkillsConfig {
  return {
    ...file,
    load: { extraDirs: file.load.extraDirs.map((path) => expandPath(path, home)) },
    entries: Object.fromEntries(Object.entries(file.entries).map(([key, entry]) => [key, entryOf(entry)])),
  };
}

type FileAgent = ConfigFile["agents"]["list"][number];

/** An agent's own list replaces the defaults' one. */
export function skillsOfAgent(
  agent: FileAgent,
  defaults: AgentDefaults,
): Pick<AgentConfig, "skills" | "maxSkillsPromptChars"> {
  const skills = agent.skills ?? defaults.skills;
  const most = agent.skillsLimits?.maxSkillsPromptChars;
  return {
    ...(skills === undefined ? {} : { skills }),
    ...(most === undefined ? {} : { maxSkillsPromptChars: most }),
  };
}

function entryOf(entry: ConfigFile["skills"]["entries"][string]): SkillEntryConfig {
  const env = Object.entries(entry.env).map(
    ([name, value]) => [name, isCredential(name, value) ? secret(value) : value] as const,
  );
  return { ...entry, env: Object.fromEntries(env) };
}
