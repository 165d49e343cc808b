// A tool whose every call needs a person's approval, and which counts what it did.
import { defineTool, textResult, type ExecAction, type Tool } from "@parley/tools";
import { z } from "zod";

export interface AskingTool {
  readonly tool: Tool;
  /** What was run, in order. */
  readonly ran: readonly string[];
  /** Where the action would run from now on: another folder is another action. */
  moveTo(cwd: string): void;
}

export function askingTool(): AskingTool {
  const ran: string[] = [];
  let cwd = "/work";
  const args = z.object({ what: z.string() });
  const actionOf = (what: string): ExecAction => ({
    kind: "exec",
    argv: ["/opt/deploy", what],
    shell: false,
    parts: [["/opt/deploy", what]],
    cwd,
    env: {},
    sandbox: "none",
    interactive: false,
    files: [],
    closed: true,
    outside: [],
  });
  return {
    ran,
    moveTo(folder) {
      cwd = folder;
    },
    tool: defineTool({
      name: "exec",
      summary: "Run",
      description: "Runs.",
      args,
      effect: "writes",
      action: async ({ what }) => actionOf(what),
      async run({ what }) {
        ran.push(what);
        return textResult(`ran ${what}`);
      },
    }),
  };
}
