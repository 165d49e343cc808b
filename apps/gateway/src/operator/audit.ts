// Serves the audit log to the operator.
import type { MethodParams, MethodResult } from "@parley/protocol";
import { readAudit } from "../audit/audit-log.ts";
import type { ConfigPorts } from "./ports.ts";

export function auditMethods({ home }: Pick<ConfigPorts, "home">) {
  return {
    async "audit.list"({
      sinceMs = 0,
      method = "",
      by,
      limit = 200,
      skip = 0,
    }: MethodParams<"audit.list">): Promise<MethodResult<"audit.list">> {
      const found = readAudit(home).filter(
        (record) =>
          record.atMs >= sinceMs && record.method.includes(method) && (by === undefined || record.by === by),
      );
      const end = Math.max(0, found.length - skip);
      const from = Math.max(0, end - limit);
      return { records: found.slice(from, end), more: from > 0 };
    },
  };
}
