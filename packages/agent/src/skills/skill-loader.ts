// All skills of an agent: workspace before managed before bundled before extra folders, and of two with one
// name the first is used and the other shown as shadowed. What cannot be used is kept with its reason. The
// roots are looked through at every load; only files that changed are read.
import { dirname } from "node:path";
import { type ForeignOrigin, type OriginOf, ownersAlone } from "../workspace/origin.ts";
import type { SkillManifest } from "./manifest.ts";
import { skillFiles } from "./skill-file.ts";
import { skillFolders } from "./skill-folders.ts";
import { lookOf, skillId } from "./skill-name.ts";

/** In order of precedence. */
export const skillSources = ["workspace", "managed", "bundled", "extra"] as const;
export type SkillSource = (typeof skillSources)[number];

export interface SkillRoot {
  readonly source: SkillSource;
  /** Absolute. */
  readonly path: string;
}

export interface Skill {
  readonly manifest: SkillManifest;
  readonly source: SkillSource;
  readonly root: string;
  /** Absolute path of its SKILL.md. */
  readonly file: string;
  /** Absolute; what its relative paths start from. */
  readonly folder: string;
  readonly notes: readonly string[];
  /** Told before its words: no owner confirmed them. */
  readonly mark?: string;
}

interface RejectedSkill {
  readonly source: SkillSource;
  readonly file: string;
  readonly reason: string;
}

export interface LoadedSkills {
  /** One for each name, by name. */
  readonly skills: readonly Skill[];
  readonly shadowed: readonly { readonly skill: Skill; readonly by: Skill }[];
  readonly rejected: readonly RejectedSkill[];
  /** Roots that hold more than is looked at. */
  readonly cut: readonly string[];
}

export interface SkillLimits {
  readonly maxSkillsPromptChars: number;
  readonly maxSkillsInPrompt: number;
  readonly maxSkillsLoadedPerSource: number;
  readonly maxCandidatesPerRoot: number;
  readonly maxSkillFileBytes: number;
}

/** The seeds' numbers. */
export const defaultSkillLimits: SkillLimits = {
  maxSkillsPromptChars: 18_000,
  maxSkillsInPrompt: 150,
  maxSkillsLoadedPerSource: 200,
  maxCandidatesPerRoot: 300,
  maxSkillFileBytes: 256_000,
};

export interface SkillShelves {
  load(roots: readonly SkillRoot[], limits: SkillLimits, originOf?: OriginOf): Promise<LoadedSkills>;
  /** How often contents were read from disk; for reports. */
  readonly reads: number;
}

function marked(
  manifest: SkillManifest,
  { reason, who }: ForeignOrigin,
): Pick<Skill, "manifest" | "mark" | "notes"> {
  return {
    manifest: { ...manifest, description: `(${reason}) ${manifest.description}` },
    mark: reason,
    notes: [`${reason} (${who})`],
  };
}

export function skillShelves(): SkillShelves {
  const files = skillFiles();

  async function loadRoot(
    root: SkillRoot,
    limits: SkillLimits,
    originOf: OriginOf,
  ): Promise<{ skills: Skill[]; rejected: RejectedSkill[]; cut: boolean }> {
    const { source } = root;
    const ownNameOnly = source === "workspace";
    const found = await skillFolders(root.path, limits.maxCandidatesPerRoot);
    const readings = await Promise.all(
      found.files.map(async (file) => ({
        file,
        reading: await files.read({ root: root.path, path: file, ownNameOnly }, limits.maxSkillFileBytes),
      })),
    );
    const skills: Skill[] = [];
    const rejected: RejectedSkill[] = found.refused.map((each) => ({ source, ...each }));
    for (const { file, reading } of readings) {
      if (reading === null) continue;
      const origin = reading.ok ? originOf(file, reading.sha256) : null;
      if (!reading.ok) rejected.push({ source, file, reason: reading.reason });
      else if (origin?.use === "leave out")
        rejected.push({ source, file, reason: `${origin.reason} (${origin.who})` });
      else if (skills.length >= limits.maxSkillsLoadedPerSource)
        rejected.push({
          source,
          file,
          reason: `its root has more than ${limits.maxSkillsLoadedPerSource} skills`,
        });
      else {
        const { manifest, notes } = reading;
        const own = { source, root: root.path, file, folder: dirname(file), notes };
        skills.push(origin === null ? { ...own, manifest } : { ...own, ...marked(manifest, origin) });
      }
    }
    return { skills, rejected, cut: found.cut };
  }

  return {
    get reads() {
      return files.reads;
    },
    async load(roots, limits, originOf = ownersAlone) {
      const loaded = await Promise.all(roots.map((root) => loadRoot(root, limits, originOf)));
      const byName = new Map<string, Skill>();
      const byLook = new Map<string, Skill>();
      const shadowed: { skill: Skill; by: Skill }[] = [];
      const alike: RejectedSkill[] = [];
      for (const skill of loaded.flatMap(({ skills }) => skills)) {
        const { name } = skill.manifest;
        const [id, look] = [skillId(name), lookOf(name)];
        const by = byName.get(id);
        const likeness = byLook.get(look);
        if (by !== undefined) {
          if (by.file !== skill.file) shadowed.push({ skill, by });
        } else if (likeness !== undefined) {
          const { source, file } = skill;
          alike.push({
            source,
            file,
            reason: `its name "${name}" looks like that of the skill "${likeness.manifest.name}" in ${likeness.file}`,
          });
        } else {
          byName.set(id, skill);
          byLook.set(look, skill);
        }
      }
      return {
        skills: [...byName].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, skill]) => skill),
        shadowed,
        rejected: [...loaded.flatMap(({ rejected }) => rejected), ...alike],
        cut: roots.flatMap(({ path }, index) => (loaded[index]?.cut === true ? [path] : [])),
      };
    },
  };
}
