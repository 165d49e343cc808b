// Finds passages of the agent's notes by words and, where a model is set for it, by meaning. What it returns
// was written by people and pages of the past: it is fenced as untrusted, and its markup is escaped.
import { z } from "zod";
import type { Recalled } from "../ports/memory.ts";
import type { ToolContext } from "../context.ts";
import type { Unavailable } from "../ports/done.ts";
import { defineTool, textResult } from "../define-tool.ts";
import { fencedMemory, notedAfter } from "../memory-fence.ts";
import { firstBytes, resultRoom } from "../result-size.ts";
import type { Tool } from "../tool.ts";
import type { ToolListing } from "../tool-listing.ts";

const args = z.object({
  query: z.string().describe("What to look for: words, names, dates or a question."),
  maxResults: z.number().int().min(1).max(50).optional().describe("Most passages."),
  minScore: z.number().min(0).max(1).optional().describe("Leave out what scores lower."),
});

export const memorySearchListing: ToolListing = {
  name: "memory_search",
  label: "Memory search",
  section: "memory",
  profiles: ["coding"],
  effect: "reads",
  summary: "Search MEMORY.md and memory/*.md",
};

export const noMemory = "memory is not searched here (agents.defaults.memorySearch.enabled)";

export function memorySearch(context: ToolContext): Tool | Unavailable {
  const { memory } = context;
  if (memory === undefined) return { unavailable: noMemory };
  return defineTool({
    ...memorySearchListing,
    description:
      "Mandatory recall step: search MEMORY.md + memory/*.md (and optional session transcripts) before answering questions about prior work, " +
      "decisions, dates, people, preferences, or todos; returns top snippets with path + lines. Finds only what this conversation may see. " +
      "If response has disabled=true, memory retrieval is unavailable and should be surfaced to the user.",
    args,
    async run(request, scope) {
      try {
        const recalled = await memory.search(scope, request);
        const sources = recalled.hits.flatMap(({ untrusted }) => untrusted ?? []);
        return notedAfter(textResult(shown(recalled, resultRoom(context))), sources);
      } catch (error) {
        if (scope.signal.aborted) throw error;
        const reason = error instanceof Error ? error.message : String(error);
        return textResult(`disabled=true: memory retrieval is unavailable (${reason}).`, true);
      }
    },
  });
}

function shown({ hits, mode, notes, citations }: Recalled, roomBytes: number): string {
  const told = notes.map((note) => `[${note}]`);
  if (hits.length === 0) return ["Nothing found in memory.", ...told].join("\n");
  const passages: string[] = [];
  let left = roomBytes - Buffer.byteLength(told.join("\n")) - 400;
  for (const [at, hit] of hits.entries()) {
    const { path, startLine, endLine, score, source, heading, snippet, untrusted, turn } = hit;
    const isSaid = source === "sessions";
    const place = isSaid
      ? `session ${path}, turn ${turn ?? "unknown"}`
      : `${path}#L${startLine}${endLine > startLine ? `-L${endLine}` : ""}`;
    const lines = `${isSaid ? "entries" : "lines"} ${startLine}-${endLine}`;
    const after =
      untrusted === undefined ? "" : `, untrusted: ${isSaid ? "said" : "noted"} after reading ${untrusted}`;
    const facts = `score ${score.toFixed(2)}, source ${source}${after}`;
    const under = heading === "" ? "" : `, under "${heading}"`;
    const cited = citations ? `\nSource: ${place}` : "";
    const passage = `${at + 1}. ${place} (${lines}, ${facts}${under})\n${snippet}${cited}`;
    const bytes = Buffer.byteLength(passage) + 50;
    if (bytes > left && passages.length > 0) break;
    passages.push(bytes > left ? firstBytes(passage, Math.max(200, left)) : passage);
    left -= bytes;
  }
  const count = `${passages.length} ${passages.length === 1 ? "passage" : "passages"} (${mode} search):`;
  return [count, fencedMemory(passages.join("\n\n")), ...told].join("\n");
}
