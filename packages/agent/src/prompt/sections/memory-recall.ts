// Recall before answering about the past. Citations follow the audience: paths mean something to the one
// person, not to a group.
import type { StableFacts } from "../facts.ts";
import type { StableSection } from "../section.ts";

export const memoryRecall: StableSection = {
  id: "memory_recall",
  title: "Memory Recall",
  level: 2,
  zone: "stable",
  modes: ["full"],
  priority: 65,
  render: (facts) =>
    facts.tools.any("memory_search", "memory_get") ? `${recall(facts)}\n${citations(facts)}` : null,
  why: ({ tools }) =>
    tools.any("memory_search", "memory_get") ? "memory tools are available" : "no memory tool",
};

function recall({ tools }: StableFacts): string {
  const before =
    "Before answering anything about prior work, decisions, dates, people, preferences, or todos:";
  const search = `\`${tools.name("memory_search")}\``;
  const get = `\`${tools.name("memory_get")}\``;
  if (!tools.has("memory_search"))
    return `${before} read the lines you need from MEMORY.md or memory/*.md with ${get}. If unsure, say you checked.`;
  const pull = tools.has("memory_get") ? `; then use ${get} to pull only the needed lines` : "";
  return `${before} run ${search} on MEMORY.md + memory/*.md${pull}. If low confidence after search, say you checked.`;
}

function citations({ citations: mode, audience }: StableFacts): string {
  return mode === "on" || (mode === "auto" && audience === "private")
    ? "Citations: include Source: <path#line> when it helps the user verify memory snippets."
    : "Citations are disabled: do not mention file paths or line numbers unless explicitly asked.";
}
