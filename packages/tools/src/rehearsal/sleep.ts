// Defines a tool that takes its time in a process group of its own, which /stop and deadlines have to end.
import { z } from "zod";
import type { Clock } from "@parley/protocol";
import { defineTool, textResult } from "../define-tool.ts";
import { runGroup } from "../process-group.ts";
import type { Tool } from "../tool.ts";

const outputBytes = 1_024;

export function sleepTool(clock: Clock, path: string): Tool {
  return defineTool({
    name: "sleep",
    summary: "Wait for some seconds in a process",
    description: "Starts a shell that starts a sleep, and waits for both. For rehearsals.",
    args: z.object({ seconds: z.number().min(0).max(3_600) }),
    effect: "writes",
    async run({ seconds }, { workspace, signal }) {
      // A shell with a child: ending the shell alone would leave the sleep behind.
      const { code } = await runGroup({
        program: "/bin/sh",
        args: ["-c", `sleep ${seconds}; exit 0`],
        cwd: workspace,
        env: { PATH: path },
        signal,
        clock,
        outputBytes,
      });
      return code === 0
        ? textResult(`slept ${seconds} s`)
        : textResult(`the process ended with ${code}`, true);
    },
  });
}
