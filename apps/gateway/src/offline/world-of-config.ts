// Builds what a turn runs with from another config file, over the same store: nothing of it is started.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { loadConfig } from "@parley/config";
import { Fault } from "@parley/protocol";
import type { ReplayWorld } from "../replay/replay-turn.ts";
import { wireModels } from "../wiring/models.ts";
import { stoppedPath, type StoppedPathOptions } from "./stopped-path.ts";

/** Throws Fault("missing") without the file, ConfigFault for one with mistakes. */
export function worldOfConfig(
  options: Omit<StoppedPathOptions, "config" | "configPath" | "models">,
): (file: string) => Promise<ReplayWorld> {
  return async (file) => {
    const { places, clock, log } = options;
    if (!existsSync(file)) throw new Fault("missing", `there is no config file ${file}`);
    const env = { ...options.env, PARLEY_HOME: places.home, PARLEY_CONFIG: file };
    const { config } = await loadConfig({ env });
    const models = wireModels(config, join(places.home, "media"), clock, log);
    const path = await stoppedPath({ ...options, config, configPath: file, models });
    return { config, turnPreparer: path.turnPreparer, modelCatalog: path.models };
  };
}
