// Loads a config from text, for the tests beside it.
import { ConfigFault, loadConfig, type ConfigProblem, type Env, type LoadedConfig } from "../src/index.ts";

export const home = "/state";

/** `files`: secrets by absolute path. */
export function loadText(
  text: string | null,
  env: Env = {},
  files: { readonly [path: string]: string } = {},
): Promise<LoadedConfig> {
  return loadConfig({
    env,
    home,
    readFile: async (path) => (path === `${home}/parley.json5` ? text : (files[path] ?? null)),
  });
}

export async function problemsOf(text: string, env: Env = {}): Promise<readonly ConfigProblem[]> {
  try {
    await loadText(text, env);
  } catch (error) {
    if (error instanceof ConfigFault) return error.problems;
    throw error;
  }
  return [];
}
