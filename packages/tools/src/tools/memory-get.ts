// Reads lines of one memory file, after a search has named them.
import { z } from "zod";
import type { ToolContext } from "../context.ts";
import type { Unavailable } from "../ports/done.ts";
import { defineTool, textResult } from "../define-tool.ts";
import { fencedMemory, notedAfter } from "../memory-fence.ts";
import { firstBytes, resultRoom } from "../result-size.ts";
import type { Tool } from "../tool.ts";
import type { ToolListing } from "../tool-listing.ts";
import { noMemory } from "./memory-search.ts";

/** As many as other gateways of this kind return at once. */
const defaultLines = 120;

const args = z.object({
  path: z.string().min(1).max(1_024).describe("MEMORY.md or a file of memory/, as memory_search names it."),
  from: z.number().int().min(1).optional().describe("First line, counted from 1."),
  lines: z.number().int().min(1).max(2_000).optional().describe(`Most lines. Default: ${defaultLines}.`),
});

export const memoryGetListing: ToolListing = {
  name: "memory_get",
  label: "Memory get",
  section: "memory",
  profiles: ["coding"],
  effect: "reads",
  summary: "Read lines of a memory file",
};

export function memoryGet(context: ToolContext): Tool | Unavailable {
  const { memory } = context;
  if (memory === undefined) return { unavailable: noMemory };
  return defineTool({
    ...memoryGetListing,
    description:
      "Safe snippet read from MEMORY.md or memory/*.md with optional from/lines; use after memory_search to pull only the needed lines and keep context small.",
    args,
    async run({ path, from = 1, lines = defaultLines }, scope) {
      const read = await memory.get(scope, { path, from, lines });
      if (read.totalLines === 0) return textResult(`${read.path} is empty.`);
      const room = resultRoom(context) - 300;
      const shown: string[] = [];
      let bytes = 0;
      for (const line of read.text.split("\n")) {
        bytes += Buffer.byteLength(line) * 1.1 + 1;
        if (shown.length > 0 && bytes > room) break;
        shown.push(firstBytes(line, room));
      }
      const last = read.startLine + shown.length - 1;
      const more = last < read.totalLines ? `; go on with from=${last + 1}` : "";
      const text = textResult(
        `${read.path}#L${read.startLine}-L${last} of ${read.totalLines} lines${more}\n${fencedMemory(shown.join("\n"))}`,
      );
      return notedAfter(text, read.untrusted === undefined ? [] : [read.untrusted]);
    },
  });
}
