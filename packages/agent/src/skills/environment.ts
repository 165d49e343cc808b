// Builds the environment variables that a turn's tool processes get for the skills of that turn: the
// operator's values under `skills.entries`, nothing that a skill brought itself. Names that change how
// programs run are left out.
import { isUnsafeEnvName } from "@parley/protocol";
import type { SkillManifest } from "./manifest.ts";

export interface SkillValues {
  readonly env: { readonly [name: string]: string };
  readonly apiKey?: string;
}

/**
 * An earlier skill's value stays; a named variable comes before the key. What is said of a skill's name comes
 * before what is said of its key.
 */
export function skillEnvironment(
  manifests: readonly SkillManifest[],
  valuesOf: (key: string) => SkillValues | null,
): { readonly [name: string]: string } {
  const env = new Map<string, string>();
  const set = (name: string, value: string): void => {
    if (!env.has(name) && !isUnsafeEnvName(name)) env.set(name, value);
  };
  for (const { name, key, primaryEnv } of manifests) {
    const given = [...new Set([name, key])].flatMap((each) => valuesOf(each) ?? []);
    for (const values of given)
      for (const [variable, value] of Object.entries(values.env)) set(variable, value);
    const apiKey = given.find((values) => values.apiKey !== undefined)?.apiKey;
    if (primaryEnv !== undefined && apiKey !== undefined) set(primaryEnv, apiKey);
  }
  return Object.fromEntries(env);
}
