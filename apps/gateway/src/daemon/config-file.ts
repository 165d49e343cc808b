// The config file when the daemon starts: brought to this version, and what is odd about it told. A file that
// cannot be written is understood all the same.
import { describeProblem, rewriteMigrated, type LoadedConfig } from "@parley/config";
import { isFault, type Log } from "@parley/protocol";

/** What it was before it was rewritten is kept beside it. */
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
