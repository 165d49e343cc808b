// Implements `restart`, `reload` and `resume`: the daemon starts again, reads its config again, or leaves
// safe mode.
import type { MethodParams, MethodResult } from "@parley/protocol";
import type { DaemonPorts } from "./ports.ts";

export function lifecycleMethods(
  ports: Pick<DaemonPorts, "restart" | "reload" | "resume">,
  status: () => Promise<MethodResult<"status">>,
) {
  return {
    async restart({
      reason = "asked for over the control plane",
    }: MethodParams<"restart">): Promise<MethodResult<"restart">> {
      const { pid, turnsRunning, deliveriesWaiting } = await status();
      await ports.restart(reason);
      return { pid, turnsRunning, deliveriesWaiting };
    },
    async reload(): Promise<MethodResult<"reload">> {
      const { outcome, changed, restarted, restartNeeded, problems } = await ports.reload(
        "asked for over the control plane",
      );
      return {
        outcome,
        changed: [...changed],
        restarted: [...restarted],
        restartNeeded: [...restartNeeded],
        problems: [...problems],
      };
    },
    resume: async (): Promise<MethodResult<"resume">> => ({ resumed: await ports.resume() }),
  };
}
