// Completes skills.*: makes folders absolute and wraps in a Secret whatever looks like a credential, so that
// logs and answers hide it.
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

const credentialNames =
  /(?:^|_)(?:API|AUTH|KEY|KEYS|TOKEN|TOKENS|SECRET|PASS|PASSWD|PASSWORD|PASSPHRASE|PWD|CREDENTIAL|CREDENTIALS|COOKIE|DSN|PAT)(?:_|$)|(?:KEY|TOKEN|SECRET|PASSWORD)$/i;
const credentialForms =
  /^(?:sk-|gh[pousr]_|github_pat_|xox[abprs]-|AKIA|ya29\.|eyJ[\w-]{10,}\.)|:\/\/[^/\s:@]+:[^/\s@]+@/;

/** A plain word is not hidden: every answer that says it would be cut. */
function isCredential(name: string, value: string): boolean {
  const random = value.length >= 24 && /^[\w+=-]+$/.test(value) && /\d/.test(value) && /[A-Za-z]/.test(value);
  return (
    (credentialNames.test(name) && value.length >= 6 && !/^(?:true|false)$/i.test(value)) ||
    credentialForms.test(value) ||
    random
  );
}
