// Implements `update.check` and `update.run`: what a release source has, and its newest version in force.
import type { MethodParams, MethodResult } from "@parley/protocol";
import type { DaemonPorts } from "./ports.ts";

export function updateMethods({ selfUpdate, ids }: Pick<DaemonPorts, "selfUpdate" | "ids">) {
  return {
    "update.check": ({ look }: MethodParams<"update.check">): Promise<MethodResult<"update.check">> =>
      selfUpdate.check(look),
    async "update.run"({ to }: MethodParams<"update.run">): Promise<MethodResult<"update.run">> {
      await selfUpdate.begin(`control:${ids.uuid()}`, to);
      return { asked: true };
    },
  };
}
