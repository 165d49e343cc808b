// The agent's hands: what a tool is, and each tool in a file of its own.
import type { Clock } from "@parley/protocol";
import { append } from "./rehearsal/append.ts";
import { echo } from "./rehearsal/echo.ts";
import { sleepTool } from "./rehearsal/sleep.ts";
import type { Tool } from "./tool.ts";

export { defineTool, textResult, type ToolDefinition } from "./define-tool.ts";
export { runGroup, type GroupEnd, type GroupRequest } from "./process-group.ts";
export * from "./tool.ts";

/** Harmless tools to try the machinery with. `path` is the search path for programs. */
export function rehearsalTools(clock: Clock, path: string): readonly Tool[] {
  return [echo, append, sleepTool(clock, path)];
}
