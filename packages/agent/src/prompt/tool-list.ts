// The tools as the prompt sees them: deduplicated, in a fixed order, each known by the casing its caller
// used. Providers are strict about names, so prose and list must match the schemas exactly. Part of I12:
// equal tools, equal bytes.
import { plainLine } from "../plain-line.ts";

export interface ToolFact {
  readonly name: string;
  /** One line, the tool's own. */
  readonly summary: string;
  /** The model has to look it up before it can call it. */
  readonly deferred?: boolean;
}

export interface ToolSet {
  /** Names of tools that have to be looked up, sorted. */
  readonly deferred: readonly string[];
  readonly list: readonly { readonly name: string; readonly summary: string }[];
  has(...names: readonly string[]): boolean;
  /** True when at least one is there. */
  any(...names: readonly string[]): boolean;
  /** The caller's casing; the asked spelling where the tool is missing. */
  name(name: string): string;
}

const summaryChars = 160;

/** Names in the order in which models should consider them: what comes first weighs more. */
const inOrder = (
  "read write edit apply_patch exec process web_search web_fetch browser canvas nodes cron message gateway " +
  "agents_list sessions_list sessions_history sessions_send sessions_spawn subagents session_status memory_search " +
  "memory_get update_plan image image_generate tts"
).split(" ");

const rank = new Map(inOrder.map((name, at) => [name, at]));

/** The first casing of a name wins; tools with a rank come in its order, others alphabetically after them. */
export function toolSet(tools: readonly ToolFact[]): ToolSet {
  const byKey = new Map<string, ToolFact>();
  for (const tool of tools) {
    if (tool.deferred === true) continue;
    const key = tool.name.toLowerCase();
    if (!byKey.has(key)) byKey.set(key, tool);
  }
  const keys = [...byKey.keys()].sort(
    (a, b) => (rank.get(a) ?? inOrder.length) - (rank.get(b) ?? inOrder.length) || (a < b ? -1 : 1),
  );
  const deferred = tools.filter((tool) => tool.deferred === true).map(({ name }) => name);
  return Object.freeze({
    deferred: Object.freeze(deferred.sort()),
    list: Object.freeze(
      keys.map((key) => {
        const tool = byKey.get(key);
        const summary = plainLine(tool?.summary ?? "", summaryChars);
        return Object.freeze({ name: tool?.name ?? key, summary });
      }),
    ),
    has: (...names: readonly string[]) => names.every((name) => byKey.has(name.toLowerCase())),
    any: (...names: readonly string[]) => names.some((name) => byKey.has(name.toLowerCase())),
    name: (name: string) => byKey.get(name.toLowerCase())?.name ?? name,
  });
}
