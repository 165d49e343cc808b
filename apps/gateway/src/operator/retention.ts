// Serves what age and size take to the operator: shows it, or takes it now.
import type { MethodParams, MethodResult } from "@parley/protocol";
import { retention, type RetentionPorts } from "../maintenance/retention.ts";

export function retentionMethods(ports: RetentionPorts) {
  return {
    "retention.run": async ({
      confirm = false,
    }: MethodParams<"retention.run">): Promise<MethodResult<"retention.run">> => ({
      done: confirm,
      rules: await retention(ports).run(confirm),
    }),
  };
}
