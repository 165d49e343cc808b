// Says when to talk about tool calls: seldom. A provider may replace it.
import type { StableSection } from "../section.ts";

const standard = [
  "Default: do not narrate routine, low-risk tool calls (just call the tool).",
  "Narrate only when it helps: multi-step work, hard problems, sensitive actions (e.g. deletions), or when asked.",
  "Keep narration brief and value-dense, in plain human language unless the context is technical.",
].join("\n");

export const toolCallStyle: StableSection = {
  id: "tool_call_style",
  title: "Tool Call Style",
  level: 2,
  zone: "stable",
  modes: ["full", "minimal"],
  priority: 70,
  render: ({ provider }) => provider?.replace?.tool_call_style ?? standard,
  why: ({ provider }) =>
    provider?.replace?.tool_call_style === undefined ? "always" : "replaced by the provider",
};
