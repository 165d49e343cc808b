// The tools as the prompt sees them: deduplicated, in a fixed order, each known by the casing its caller
// used. Providers are strict about names, so prose and list must match the schemas exactly. Part of I12:
// equal tools, equal bytes.
import { plainLine } from "../plain-line.ts";

export interface ToolFact {
  readonly name: string;
  /** One line; the core summary stands in where it is missing. */
  readonly summary?: string | undefined;
}

export interface ToolSet {
  readonly list: readonly { readonly name: string; readonly summary: string }[];
  has(...names: readonly string[]): boolean;
  /** True when at least one is there. */
  any(...names: readonly string[]): boolean;
  /** The caller's casing; the asked spelling where the tool is missing. */
  name(name: string): string;
}

const summaryChars = 160;

/** Core tools in the order in which models should consider them: what comes first weighs more. */
const core: readonly (readonly [string, string])[] = [
  ["read", "Read file contents"],
  ["write", "Create or overwrite files"],
  ["edit", "Make precise edits to files"],
  ["apply_patch", "Apply multi-file patches"],
  ["exec", "Run shell commands (pty for programs that need a terminal)"],
  ["process", "Manage background exec sessions"],
  ["web_search", "Search the web"],
  ["web_fetch", "Fetch a URL as readable text"],
  ["browser", "Control a web browser"],
  ["canvas", "Present, evaluate or snapshot the canvas"],
  ["nodes", "List, notify or use paired devices"],
  ["cron", "Manage reminders and scheduled jobs"],
  ["message", "Send messages and channel actions"],
  ["gateway", "Restart or configure Parley"],
  ["agents_list", "List agents allowed for sessions_spawn"],
  ["sessions_list", "List other sessions and sub-agents"],
  ["sessions_history", "Read another session's history"],
  ["sessions_send", "Send a message to another session"],
  ["sessions_spawn", "Spawn a sub-agent in its own session"],
  ["subagents", "List, steer or kill your sub-agents"],
  ["session_status", "Show time, usage and model; set the model"],
  ["memory_search", "Search MEMORY.md and memory/*.md"],
  ["memory_get", "Read lines of a memory file"],
  ["update_plan", "Keep a plan for multi-step work"],
  ["image", "Analyze an image"],
  ["tts", "Turn text into speech"],
];

const rank = new Map(core.map(([name], at) => [name, at]));
const coreSummary = new Map(core);

/** The first casing of a name wins; core tools come in their order, others alphabetically after them. */
export function toolSet(tools: readonly ToolFact[]): ToolSet {
  const byKey = new Map<string, ToolFact>();
  for (const tool of tools) {
    const key = tool.name.toLowerCase();
    if (!byKey.has(key)) byKey.set(key, tool);
  }
  const keys = [...byKey.keys()].sort(
    (a, b) => (rank.get(a) ?? core.length) - (rank.get(b) ?? core.length) || (a < b ? -1 : 1),
  );
  return Object.freeze({
    list: Object.freeze(
      keys.map((key) => {
        const tool = byKey.get(key);
        const summary = plainLine(tool?.summary ?? coreSummary.get(key) ?? "", summaryChars);
        return Object.freeze({ name: tool?.name ?? key, summary });
      }),
    ),
    has: (...names: readonly string[]) => names.every((name) => byKey.has(name.toLowerCase())),
    any: (...names: readonly string[]) => names.some((name) => byKey.has(name.toLowerCase())),
    name: (name: string) => byKey.get(name.toLowerCase())?.name ?? name,
  });
}
