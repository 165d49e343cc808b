// Prepares the config file at the start: brings it to this version and logs warnings about it. The gateway
// also reads a file that it cannot write.
import { describeProblem, rewriteMigrated, type LoadedConfig } from "@parley/config";
import { isFault, type Log } from "@parley/protocol";

/** Keeps the file as it was beside the rewritten one. */
export async function settleConfigFile(
  { path, warnings }: Pick<LoadedConfig, "path" | "warnings">,
  log: Log,
): Promise<void> {
  await bringUpToDate(path, log);
  for (const warning of warnings) log.warn({}, describeProblem(path, warning));
}

async function bringUpToDate(path: string, log: Log): Promise<void> {
  try {
    const rewritten = await rewriteMigrated(path);
    if (rewritten !== null) log.info({ path, ...rewritten }, "the config file was brought to this version");
  } catch (error) {
    if (!isFault(error)) throw error;
    log.warn({ path, error }, "the config file is of an older version and could not be rewritten");
  }
}
