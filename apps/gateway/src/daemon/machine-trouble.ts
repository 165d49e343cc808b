// What is wrong with the machine while the daemon runs, looked at whenever somebody asks how it is, so that
// it heals as the machine does (I10): the clock, and the workspaces, of which one that cannot be used stops
// its own agent and nobody else.
import { clockTrouble, folderTrouble, type Config } from "@parley/config";
import type { Clock } from "@parley/protocol";

export async function troubleAround(
  agents: Config["agents"]["list"],
  clock: Pick<Clock, "now">,
): Promise<readonly string[]> {
  const clockWords = clockTrouble(clock.now());
  const workspaces = await Promise.all(
    agents.map(async ({ id, workspace }) => {
      const trouble = await folderTrouble(workspace);
      return trouble === null ? [] : [`agent ${id} cannot work: ${trouble}`];
    }),
  );
  return [...(clockWords === null ? [] : [clockWords]), ...workspaces.flat()];
}
