// Checks the machine whenever somebody asks for the state, so that a failure clears as the machine recovers
// (I10). It checks the clock and the workspaces, where an unusable one stops its own agent and no other.
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
