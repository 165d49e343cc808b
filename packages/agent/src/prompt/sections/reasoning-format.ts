// Tags for models without a reasoning channel of their own; the reply parser reads them.
import { neverDropped, type VolatileSection } from "../section.ts";

const text = [
  "ALL internal reasoning MUST be inside <think>...</think>. Do not output any analysis outside <think>.",
  "Format every reply as <think>...</think> then <final>...</final>, with no other text.",
  "Only text inside <final> is shown to the user; everything else is discarded.",
].join("\n");

export const reasoningFormat: VolatileSection = {
  id: "reasoning_format",
  title: "Reasoning Format",
  level: 2,
  zone: "volatile",
  modes: ["full", "minimal"],
  priority: neverDropped,
  render: ({ surface }) => (surface.reasoningTags ? text : null),
  why: ({ surface }) =>
    surface.reasoningTags ? "the model reasons in tags" : "the model needs no reasoning tags",
};
