// Finds the skills of an agent at a place: those that exist, those that may be used, the prompt's list of
// them, and the environment for the turn's processes. Every call looks at the disk again, so that a change
// counts from the next turn; unchanged files are not read again.
import { join, relative, sep } from "node:path";
import {
  hasSetting,
  isAllowed,
  judgeSkill,
  listSkills,
  skillCommands,
  skillEnvironment,
  skillId,
  skillShelves,
  skillText,
  type Skill,
  type SkillCommand,
  type SkillEntry,
  type SkillLimits,
  type SkillListing,
  type SkillRoot,
  type LoadedSkills,
  type SkillValues,
  type SkillVerdict,
} from "@parley/agent";
import { isSecret, type AgentConfig, type Config } from "@parley/config";
import type { Tool } from "@parley/tools";
import type { FileOrigins } from "../file-origins.ts";

export interface SkillRegistryOptions {
  readonly config: Config;
  /** The state folder. */
  readonly home: string;
  /** The folder of the skills that come with Parley. */
  readonly bundled: string;
  readonly env: { readonly [name: string]: string | undefined };
  /** The user's home, which the prompt shows as `~`. */
  readonly userHome: string;
  /** Node's name of the platform. */
  readonly platform: string;
  /** Names of chat commands, which no skill's command may take. */
  readonly reservedCommands: readonly string[];
  /** The authors of what enters prompts; absent where nobody records them. */
  readonly origins?: Pick<FileOrigins, "of"> | undefined;
}

type SkillState = SkillVerdict | { readonly status: "not allowed"; readonly reason: string };

export interface SurveyedSkill {
  readonly skill: Skill;
  readonly state: SkillState;
  /** What it lacks, also where it is switched off or not allowed. */
  readonly unmet: () => Extract<SkillVerdict, { readonly status: "unmet" }>["unmet"];
}

export interface SkillSurvey {
  readonly roots: readonly SkillRoot[];
  readonly shelf: LoadedSkills;
  /** The skills of `shelf`, in its order. */
  readonly skills: readonly SurveyedSkill[];
}

/** The skills that an agent may use at a place. */
export interface SkillsHere {
  /** For the prompt: those that the model may choose. */
  readonly listing: SkillListing;
  /** For people: those that they may call. */
  readonly commands: readonly SkillCommand[];
  /** For the turn's processes. `called`: skills that a person called, which the model may not have seen. */
  env(called: readonly string[]): { readonly [name: string]: string };
  /** The path as the read tool takes it. */
  location(skill: Skill): string;
  /** Returns the content of SKILL.md for an agent that cannot read it by itself; null when it is gone. */
  body(skill: Skill): Promise<string | null>;
}

export interface SkillRegistry {
  survey(agent: AgentConfig): Promise<SkillSurvey>;
  /** `narrowed`: the only skills of the place; absent means all. */
  at(agent: AgentConfig, narrowed?: readonly string[]): Promise<SkillsHere>;
  readonly limits: SkillLimits;
  /** Folders of skills outside the workspace, which the read tool must open and a sandbox must mount. */
  readRoots(): readonly string[];
  /** The folder that `parley skills install` writes to. */
  readonly managed: string;
  /** Counts the reads of file contents from disk. */
  readonly reads: () => number;
}

const bodyChars = 20_000;

export function skillRegistry({
  config,
  home,
  bundled,
  env,
  userHome,
  platform,
  reservedCommands,
  origins,
}: SkillRegistryOptions): SkillRegistry {
  const { skills: settings } = config;
  const shelves = skillShelves();
  const managed = join(home, "skills");

  function rootsOf({ workspace }: AgentConfig): readonly SkillRoot[] {
    return [
      { source: "workspace", path: join(workspace, "skills") },
      { source: "workspace", path: join(workspace, ".agents", "skills") },
      { source: "managed", path: managed },
      ...(settings.bundled ? [{ source: "bundled", path: bundled } as const] : []),
      ...settings.load.extraDirs.map((path): SkillRoot => ({ source: "extra", path })),
    ];
  }

  function entryOf(key: string): SkillEntry | null {
    const entry = ownEntry(config, key);
    if (entry === null) return null;
    const { enabled, apiKey } = entry;
    return {
      env: new Set(Object.keys(entry.env)),
      hasApiKey: apiKey !== undefined,
      ...(enabled === undefined ? {} : { enabled }),
    };
  }

  function valuesOf(key: string): SkillValues | null {
    const entry = ownEntry(config, key);
    if (entry === null) return null;
    const plain = Object.entries(entry.env).map(
      ([name, value]) => [name, isSecret(value) ? value.reveal() : value] as const,
    );
    return {
      env: Object.fromEntries(plain),
      ...(entry.apiKey === undefined ? {} : { apiKey: entry.apiKey.reveal() }),
    };
  }

  const around = {
    platform,
    path: env["PATH"] ?? "/usr/bin:/bin",
    hasEnv: (name: string) => (env[name] ?? "") !== "",
    hasConfig: (path: string) => hasSetting(config, path),
    entry: entryOf,
  };

  function stateOf(skill: Skill, agent: AgentConfig): SkillState {
    const { name } = skill.manifest;
    if (skill.source === "bundled" && !isAllowed(name, [settings.allowBundled]))
      return { status: "not allowed", reason: "it is not in skills.allowBundled" };
    if (!isAllowed(name, [agent.skills]))
      return { status: "not allowed", reason: `it is not among the skills of agent "${agent.id}"` };
    return judgeSkill(skill.manifest, around);
  }

  function unmetOf({ manifest }: Skill) {
    const entry = (key: string): SkillEntry | null => {
      const given = entryOf(key);
      return given === null ? null : { env: given.env, hasApiKey: given.hasApiKey };
    };
    const verdict = judgeSkill(manifest, { ...around, entry });
    return verdict.status === "unmet" ? verdict.unmet : [];
  }

  async function survey(agent: AgentConfig): Promise<SkillSurvey> {
    const roots = rootsOf(agent);
    const shelf = await shelves.load(roots, settings.limits, await origins?.of(agent.workspace));
    const surveyed = (skill: Skill): SurveyedSkill => ({
      skill,
      state: stateOf(skill, agent),
      unmet: () => unmetOf(skill),
    });
    return { roots, shelf, skills: shelf.skills.map(surveyed) };
  }

  return {
    survey,
    readRoots: () => [managed, ...(settings.bundled ? [bundled] : []), ...settings.load.extraDirs],
    limits: settings.limits,
    managed,
    reads: () => shelves.reads,
    async at(agent, narrowed) {
      const { skills } = await survey(agent);
      const ready = skills
        .filter(({ skill, state }) => state.status === "ready" && isAllowed(skill.manifest.name, [narrowed]))
        .map(({ skill }) => skill);
      const told = ready.filter(({ manifest }) => manifest.modelInvocable);
      const location = (skill: Skill): string => shownPath(skill.file, agent.workspace, userHome, home);
      const limits = {
        ...settings.limits,
        maxSkillsPromptChars: agent.maxSkillsPromptChars ?? settings.limits.maxSkillsPromptChars,
      };
      return {
        listing: listSkills(told, location, limits),
        commands: skillCommands(ready, reservedCommands),
        env: (called) =>
          skillEnvironment(
            ready
              .filter(({ manifest }) => manifest.modelInvocable || called.includes(manifest.name))
              .map(({ manifest }) => manifest),
            valuesOf,
          ),
        location,
        async body(skill) {
          const found = await skillText(
            { root: skill.root, path: skill.file, ownNameOnly: skill.source === "workspace" },
            settings.limits.maxSkillFileBytes,
          );
          if (found.kind !== "text" || found.text === null) return null;
          const mark = skill.mark === undefined ? "" : `[${skill.mark}]\n\n`;
          const text =
            mark +
            found.text.replaceAll("{baseDir}", shownPath(skill.folder, agent.workspace, userHome, home));
          return text.length <= bodyChars
            ? text
            : `${text.slice(0, bodyChars).toWellFormed()}\n[... cut at ${bodyChars} characters]`;
        },
      };
    },
  };
}

/** For a process without skills. */
export const noSkills: SkillRegistry = {
  survey: async () => ({ roots: [], shelf: { skills: [], shadowed: [], rejected: [], cut: [] }, skills: [] }),
  at: async () => ({
    listing: { facts: [] },
    commands: [],
    env: () => ({}),
    location: ({ file }) => file,
    body: async () => null,
  }),
  limits: {
    maxSkillsPromptChars: 0,
    maxSkillsInPrompt: 0,
    maxSkillsLoadedPerSource: 0,
    maxCandidatesPerRoot: 0,
    maxSkillFileBytes: 0,
  },
  readRoots: () => [],
  managed: "",
  reads: () => 0,
};

/** Without a read tool the list of skills would be useless. */
export function canRead(tools: readonly Pick<Tool, "name">[]): boolean {
  return tools.some(({ name }) => name === "read");
}

/** Compares names as skills do, or a name in another case would escape its config entry. */
function ownEntry({ skills: { entries } }: Config, key: string): Config["skills"]["entries"][string] | null {
  if (Object.hasOwn(entries, key)) return entries[key] ?? null;
  const id = skillId(key);
  return Object.entries(entries).find(([each]) => skillId(each) === id)?.[1] ?? null;
}

/** Relative to the workspace as the tools count it, with `~` below the user's home, else unchanged. */
function shownPath(path: string, workspace: string, userHome: string, home: string): string {
  // When the state folder is in the workspace, tools may enter only its folder of skills.
  const isOwn =
    path.startsWith(workspace + sep) && !(home.startsWith(workspace + sep) && path.startsWith(home + sep));
  if (isOwn) return relative(workspace, path).split(sep).join("/");
  return userHome !== "/" && path.startsWith(userHome + sep) ? `~${path.slice(userHome.length)}` : path;
}
