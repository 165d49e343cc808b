// A tool that takes virtual time, and may refuse to end when it is told to.
import { sleep, type Clock } from "@parley/protocol";
import { defineTool, textResult, type Tool } from "@parley/tools";
import { z } from "zod";

export interface WaitTool {
  readonly tool: Tool;
  /** How often it was started. */
  starts(): number;
}

/** `clock` is asked for late, because the stage makes it. */
export function waitTool(
  clock: () => Clock,
  forMs: number,
  { deaf = false, effect = "writes" as Tool["effect"] } = {},
): WaitTool {
  let starts = 0;
  return {
    starts: () => starts,
    tool: defineTool({
      name: "wait",
      summary: "Wait",
      description: "Waits.",
      args: z.object({}),
      effect,
      async run(_args, { signal }) {
        starts += 1;
        await sleep(clock(), forMs, deaf ? undefined : signal);
        return textResult(signal.aborted ? "stopped early" : "waited");
      },
    }),
  };
}
