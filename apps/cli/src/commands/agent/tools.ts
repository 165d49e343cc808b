// `parley tools list|explain`: what a session's next turn could use, and which rule took the rest away.
import type { MethodResult } from "@parley/protocol";
import { document, line, type Console } from "../../console.ts";
import { CommandFailure, exitCodes, type ExitCode } from "../../exit.ts";
import { withState } from "../../with-gateway.ts";

type Listed = MethodResult<"tools.list">["tools"][number];

export interface ToolsListOptions {
  readonly session: string | undefined;
  readonly explain: boolean;
  /** The name of one tool. */
  readonly only: string | undefined;
}

export async function toolsList(
  terminal: Console,
  { session, explain, only }: ToolsListOptions,
): Promise<ExitCode> {
  const found = await withState(terminal, (client) =>
    client.request("tools.list", session === undefined ? {} : { session }),
  );
  const tools =
    only === undefined
      ? found.tools
      : found.tools.filter(({ id }) => id.toLowerCase() === only.toLowerCase());
  if (only !== undefined && tools.length === 0) {
    throw new CommandFailure(
      "missing",
      `there is no tool "${only}". \`parley tools list\` shows them.`,
      exitCodes.failed,
    );
  }
  if (terminal.json) {
    document(terminal.out, { ...found, tools });
    return exitCodes.ok;
  }
  line(
    terminal.out,
    `Session ${found.session}${found.sandbox === null ? ", not sandboxed" : `, sandbox: ${found.sandbox}`}`,
  );
  for (const tool of tools)
    for (const text of explain ? explained(tool) : [listed(tool)]) line(terminal.out, text);
  if (found.reason !== null) line(terminal.out, `No turn can begin: ${found.reason}`);
  return exitCodes.ok;
}

function listed({ id, status, summary, reason }: Listed): string {
  return `${status.padEnd(11)} ${id.padEnd(17)} ${summary}${reason === null ? "" : ` (${reason})`}`;
}

function explained({
  id,
  label,
  status,
  summary,
  reason,
  section,
  groups,
  profiles,
  effect,
}: Listed): string[] {
  return [
    `${id} (${label}): ${status}${reason === null ? "" : `, because ${reason}`}`,
    `  ${summary}; it ${effect}; section ${section}`,
    `  groups: ${groups.map((group) => `group:${group}`).join(", ") || "none"}; profiles: ${profiles.join(", ")}`,
  ];
}
