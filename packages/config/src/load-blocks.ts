// Reads single blocks of a config file that is broken elsewhere, with everything else at its default. So an
// operator can reach the gateway that runs, and read the records of one that cannot start.
import { configEditor } from "./config-editor.ts";
import { editConfig } from "./file/edit.ts";
import { textFile } from "./file/read-text.ts";
import { placesIn, type Env } from "./home.ts";
import { loadConfig, type LoadedConfig } from "./load.ts";
import type { ConfigFile } from "./schema/root.ts";

/** Of the config file, or of `path` in its place. Null when those blocks are what is wrong. */
export async function loadBlocks(
  env: Env,
  blocks: readonly (keyof ConfigFile)[],
  path: string = placesIn(env).configPath,
): Promise<LoadedConfig | null> {
  const { configPath, home } = placesIn(env);
  try {
    const text = await textFile(path);
    if (text === null) return null;
    const { file } = await configEditor({ env: { ...env, PARLEY_CONFIG: path }, home }).read();
    const others = Object.keys(file ?? {}).filter((key) => !(blocks as readonly string[]).includes(key));
    const alone = editConfig(
      text,
      others.map((key) => ({ remove: [key] })),
    );
    const read = async (asked: string): Promise<string | null> =>
      asked === configPath ? alone : textFile(asked);
    return await loadConfig({ env, readFile: read });
  } catch {
    // Whatever is wrong with it has been told; here it only means that the blocks cannot be had.
    return null;
  }
}
