// Implements `logs.tail`: sends the newest lines, and further ones as they come. A slow client misses lines
// rather than delaying the log.
import { Fault, type MethodParams, type MethodResult } from "@parley/protocol";
import type { Caller } from "@parley/control";
import type { DaemonPorts } from "./ports.ts";

export const logStream = "logs";

export function logMethods({ recentLog }: Pick<DaemonPorts, "recentLog">) {
  return {
    async "logs.tail"(
      { lines = 100, follow = false }: MethodParams<"logs.tail">,
      caller: Caller,
    ): Promise<MethodResult<"logs.tail">> {
      if (follow && caller.follow === undefined)
        throw new Fault("unsupported", "only a connection that stays can follow the log");
      if (follow) caller.follow?.(logStream);
      return { lines: [...recentLog.last(lines)], following: follow };
    },
  };
}
