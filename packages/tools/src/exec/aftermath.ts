// Inspects what a command left behind, once nothing of it runs any more. It also reports a failed inspection,
// because then nobody knows what lies there.
import type { Log } from "@parley/protocol";

/** Text for the command's output; "" for none. */
export async function aftermath(
  after: (() => Promise<string>) | undefined,
  command: string,
  log: Log,
): Promise<string> {
  if (after === undefined) return "";
  try {
    const said = await after();
    if (said !== "") log.warn({ command, said }, "looked through what a command left behind");
    return said === "" ? "" : `\n[${said}]\n`;
  } catch (error) {
    log.error({ err: error, command }, "what a command left behind was not looked through");
    return "\n[Parley could not look through what it left behind]\n";
  }
}
