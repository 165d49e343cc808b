// Sets git's settings by the environment: they override every file of a repository, and reach what a script
// calls.

interface Env {
  readonly [name: string]: string;
}

/**
 * Adds settings to those that the environment has already, which win over every file (git-config(1),
 * GIT_CONFIG_COUNT).
 */
export function withSettings(env: Env, settings: readonly (readonly [name: string, value: string])[]): Env {
  const first = Number(env["GIT_CONFIG_COUNT"] ?? 0);
  const added = settings.flatMap(([name, value], index) => [
    [`GIT_CONFIG_KEY_${first + index}`, name],
    [`GIT_CONFIG_VALUE_${first + index}`, value],
  ]);
  return { ...env, ...Object.fromEntries(added), GIT_CONFIG_COUNT: String(first + settings.length) };
}
