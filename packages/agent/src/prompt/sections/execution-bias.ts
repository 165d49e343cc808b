// Follow-through: act in the turn, go on until done, verify. A provider may replace it.
import type { StableSection } from "../section.ts";

const standard = [
  "- Actionable request: act in this turn; do not end on a plan or a promise.",
  "- Continue until done or truly blocked.",
  "- A weak or empty tool result: vary the query, path or tool before you conclude.",
  "- Check mutable state live (files, time, versions, processes) before you rely on it.",
  "- Verify before finalizing; say what you could not verify.",
].join("\n");

export const executionBias: StableSection = {
  id: "execution_bias",
  title: "Execution Bias",
  level: 2,
  zone: "stable",
  modes: ["full", "minimal"],
  priority: 70,
  render: ({ provider }) => provider?.replace?.execution_bias ?? standard,
  why: ({ provider }) =>
    provider?.replace?.execution_bias === undefined ? "always" : "replaced by the provider",
};
