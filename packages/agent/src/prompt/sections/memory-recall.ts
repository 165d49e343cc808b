// Recall before answering about the past. What can be recalled and whether it is cited follow the audience:
// private memory stays out of shared places, and paths mean something to the one person, not to a group.
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

function recall({ tools, audience }: StableFacts): string {
  const before =
    "Before answering anything about prior work, decisions, dates, people, preferences, or todos:";
  const search = `\`${tools.name("memory_search")}\``;
  const get = `\`${tools.name("memory_get")}\``;
  const isPrivate = audience === "private";
  if (!tools.has("memory_search")) {
    const where = isPrivate ? "MEMORY.md or memory/*.md" : "memory/shared/";
    return `${before} read the lines you need from ${where} with ${get}. If unsure, say you checked.`;
  }
  const where = isPrivate ? "MEMORY.md + memory/*.md" : "memory/shared/ and the notes of this conversation";
  const pull = tools.has("memory_get") ? `; then use ${get} to pull only the needed lines` : "";
  const shut = isPrivate ? "" : " Private memory is not searched here.";
  return `${before} run ${search} on ${where}${pull}. If low confidence after search, say you checked.${shut}`;
}

function citations({ citations: mode, audience }: StableFacts): string {
  return mode === "on" || (mode === "auto" && audience === "private")
    ? "Citations: include Source: <path#line> when it helps the user verify memory snippets."
    : "Citations are disabled: do not mention file paths or line numbers unless explicitly asked.";
}
