// Decides whether this agent on this machine may use a skill, and lists all that is missing. It tells which
// settings exist, never their values.
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { SkillManifest } from "./manifest.ts";
import { skillId } from "./skill-name.ts";

/** What the operator says of one skill. */
export interface SkillEntry {
  readonly enabled?: boolean;
  /** Names of the variables that it sets. */
  readonly env: ReadonlySet<string>;
  readonly hasApiKey: boolean;
}

export interface SkillSurroundings {
  /** Node's name of the platform. */
  readonly platform: string;
  /** The search path for programs. */
  readonly path: string;
  readonly hasEnv: (name: string) => boolean;
  /** Whether the config has something at this dotted path that is not false, empty or zero. */
  readonly hasConfig: (path: string) => boolean;
  readonly entry: (key: string) => SkillEntry | null;
}

interface Unmet {
  readonly kind: "os" | "bin" | "anyBins" | "env" | "config";
  readonly what: string;
}

export type SkillVerdict =
  | { readonly status: "ready" }
  | { readonly status: "disabled"; readonly reason: string }
  | { readonly status: "unmet"; readonly reason: string; readonly unmet: readonly Unmet[] };

export function judgeSkill(
  { name, key, primaryEnv, gates }: Pick<SkillManifest, "name" | "key" | "primaryEnv" | "gates">,
  around: SkillSurroundings,
): SkillVerdict {
  // A skill chooses its key, but it cannot choose itself out of what is said of its name.
  const entries = [...new Set([name, key])].map((each) => ({ each, entry: around.entry(each) }));
  const off = entries.find(({ entry }) => entry?.enabled === false);
  if (off !== undefined) return { status: "disabled", reason: `skills.entries.${off.each}.enabled is false` };
  const unmet: Unmet[] = [];
  if (gates.os.length > 0 && !gates.os.includes(around.platform))
    unmet.push({ kind: "os", what: gates.os.join(" or ") });
  if (!gates.always) {
    const isThere = (program: string): boolean => isProgram(program, around.path);
    unmet.push(
      ...gates.bins.filter((program) => !isThere(program)).map((what): Unmet => ({ kind: "bin", what })),
    );
    if (gates.anyBins.length > 0 && !gates.anyBins.some(isThere))
      unmet.push({ kind: "anyBins", what: gates.anyBins.join(" or ") });
    const given = (variable: string): boolean =>
      entries.some(
        ({ entry }) =>
          entry?.env.has(variable) === true || (variable === primaryEnv && entry?.hasApiKey === true),
      );
    const hasEnv = (variable: string): boolean => around.hasEnv(variable) || given(variable);
    unmet.push(
      ...gates.env.filter((variable) => !hasEnv(variable)).map((what): Unmet => ({ kind: "env", what })),
    );
    unmet.push(
      ...gates.config
        .filter((path) => !around.hasConfig(path))
        .map((what): Unmet => ({ kind: "config", what })),
    );
  }
  return unmet.length === 0
    ? { status: "ready" }
    : { status: "unmet", reason: unmet.map(unmetWords).join("; "), unmet };
}

function unmetWords({ kind, what }: Unmet): string {
  switch (kind) {
    case "os":
      return `it is for ${what}`;
    case "bin":
      return `the program ${what} is missing`;
    case "anyBins":
      return `one of the programs ${what} is needed`;
    case "env":
      return `the variable ${what} is not set`;
    case "config":
      return `${what} is not set in the config`;
  }
}

/** A name only: a path would ask whether any file is there. */
function isProgram(name: string, path: string): boolean {
  return (
    /^[\w.+-]{1,64}$/.test(name) &&
    path.split(delimiter).some((folder) => folder !== "" && canRun(join(folder, name)))
  );
}

function canRun(file: string): boolean {
  try {
    if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return false;
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    // Not to be run by us, or not to be seen, which is the answer.
    return false;
  }
}

/** Null lists allow everything; every list narrows. */
export function isAllowed(name: string, lists: readonly (readonly string[] | undefined)[]): boolean {
  const id = skillId(name);
  return lists.every((list) => list === undefined || list.some((each) => skillId(each) === id));
}

/** Follows own properties only. */
export function hasSetting(config: unknown, path: string): boolean {
  let at = config;
  for (const step of path.split(".")) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, step)) return false;
    at = (at as { [key: string]: unknown })[step];
  }
  if (typeof at === "object" && at !== null) return Object.keys(at).length > 0;
  return at !== undefined && at !== null && at !== false && at !== "" && at !== 0;
}
