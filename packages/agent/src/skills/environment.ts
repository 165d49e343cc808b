// What a turn's tool processes get in their environment for the skills of that turn, and for no longer: the operator's values under
// `skills.entries`, nothing that a skill brought itself. Names that change how programs run are left out.
import { isUnsafeEnvName } from "@parley/protocol";
import type { SkillManifest } from "./manifest.ts";

export interface SkillValues {
  readonly env: { readonly [name: string]: string };
  readonly apiKey?: string;
}

/** An earlier skill's value stays; a named variable comes before the key. */
export function skillEnvironment(
  manifests: readonly SkillManifest[],
  valuesOf: (key: string) => SkillValues | null,
): { readonly [name: string]: string } {
  const env = new Map<string, string>();
  const set = (name: string, value: string): void => {
    if (!env.has(name) && !isUnsafeEnvName(name)) env.set(name, value);
  };
  for (const { key, primaryEnv } of manifests) {
    const values = valuesOf(key);
    if (values === null) continue;
    for (const [name, value] of Object.entries(values.env)) set(name, value);
    if (primaryEnv !== undefined && values.apiKey !== undefined) set(primaryEnv, values.apiKey);
  }
  return Object.fromEntries(env);
}
