// Makes a tool of ours from a server's definition. Its words are part of the stable zone, so they come from
// what was approved, and never from a running server (I12).
import { isFault, label, visibleText, type JsonObject } from "@parley/protocol";
import type { Tool, ToolResult } from "@parley/tools";
import type { Definition } from "./definition.ts";
import { SaidByServer } from "./error-words.ts";
import { toolName } from "./tool-name.ts";

const summaryChars = 120;

export function remoteTool(
  server: string,
  { name, description, schema, readOnly }: Definition,
  call: (args: JsonObject, signal: AbortSignal) => Promise<ToolResult>,
): Tool {
  const [firstLine = ""] = description.trim().split("\n");
  const source = `the MCP server "${server}"`;
  const from = `Tool "${label(name, 80)}" of ${source}.`;
  return {
    name: toolName(server, name),
    summary: label(firstLine, summaryChars) || from,
    description: description.trim() === "" ? from : `${description.trim()}\n\n(${from})`,
    parameters: schema,
    // Whoever may not repeat a call says so by not calling it read-only, which is the default.
    effect: readOnly ? "reads" : "sends",
    // What a server says may be used with the same server: the operator chose it. What others said may not go
    // to it unseen.
    outside: (args, _scope, { sources }) =>
      readOnly || sources.every((each) => each === source)
        ? null
        : `call ${visibleText(name)} of ${source}\n${visibleText(JSON.stringify(args))}`,
    parse: (args) => ({ ok: true, args }),
    async run(args, { signal }) {
      try {
        const result = await call(args as JsonObject, signal);
        return { ...result, untrusted: { source } };
      } catch (error) {
        if (!isFault(error)) throw error;
        const text = `MCP server ${server}: ${error.message}`;
        const theirs = error.cause instanceof SaidByServer ? { untrusted: { source } } : {};
        return { content: [{ type: "text", text }], isError: true, ...theirs };
      }
    },
  };
}
